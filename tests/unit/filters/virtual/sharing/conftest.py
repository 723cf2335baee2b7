from support.stage.decoded_messages import decoded as decoded
