"""The configs that topics inherit from namespaces: what admins change, and a loop that puts it into force."""
