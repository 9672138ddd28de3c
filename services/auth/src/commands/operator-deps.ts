import { randomBytes } from 'node:crypto'
import type { AuthConfig } from '../config.ts'
import { type OperatorDeps, toEncryptionKeys } from '../deps.ts'
import { expectMigrations, openAuthDatabase } from '../open-database.ts'

/** Opens what an operator's command needs. @throws Error when migrations are pending */
export async function openOperatorDeps(
  config: AuthConfig,
): Promise<OperatorDeps & { readonly close: () => Promise<void> }> {
  // A lost connection fails the statement that uses it, so it need not be logged.
  const database = openAuthDatabase(config, () => {})
  try {
    await expectMigrations(database)
  } catch (error) {
    await database.close()
    throw error
  }
  const { db, names } = database
  return {
    config,
    db,
    names,
    randomBytes,
    encryptionKeys: toEncryptionKeys(config),
    close: () => database.close(),
  }
}
