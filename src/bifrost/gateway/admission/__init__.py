"""What clients wait for before they are authenticated: turns of their address, and checks of their passwords."""
