-- Why: SECRET_KEY can be replaced. What is sealed under it is then sealed again; keys of statements stay as they are otherwise.

grant update (sealed_private_jwk) on statement_keys to current_user;
