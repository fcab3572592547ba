"""hentropy inside other packages: one module each, which needs that package. Nothing else imports them."""
