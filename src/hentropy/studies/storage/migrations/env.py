"""What alembic runs: the migrations, on the connection and in the transaction that it is handed."""

from alembic import context

from hentropy.studies.storage.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
