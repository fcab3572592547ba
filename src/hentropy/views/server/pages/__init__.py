"""The pages: view models from what is recorded and computed, templates, and the routes that join them."""
