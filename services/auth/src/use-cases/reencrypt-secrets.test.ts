import { randomBytes, randomUUID } from 'node:crypto'
import { Command } from 'commander'
import { sql } from 'kysely'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { factorRow } from '../../test/factor-row.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { keysCommand } from '../commands/keys.ts'
import { encryptedColumns } from '../secrets/encrypted-column-repository.ts'
import { createEncryptionKeys, decryptSecret, encryptSecret } from '../secrets/encrypted-secret.ts'

const test = await openTestApp({ settings: { AUTH_DB_NAMESPACE: 'app' } })
afterAll(() => test.close())
const { db } = test.deps
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)]
const old = createEncryptionKeys(oldKey, [])
const changed = createEncryptionKeys(newKey, [oldKey])
const alone = createEncryptionKeys(newKey, [])
const encrypt = (id: string, secret: string) => encryptSecret({ encryptionKeys: old, randomBytes }, id, secret)

/** Runs `auth keys reseal`. @returns the printed lines */
async function reseal(encryptionKeys = changed, ...words: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = []
  const open = async () => ({ ...test.deps, encryptionKeys, close: async () => {} })
  const command = keysCommand({ open, print: (line) => lines.push(line) }, async () => {})
  await new Command()
    .exitOverride()
    .addCommand(command)
    .parseAsync(['keys', 'reseal', ...words], { from: 'user' })
  return lines
}

/** Returns every encrypted secret of the database, decrypted with only the new key. */
async function openAll(): Promise<readonly string[]> {
  const secrets: string[] = []
  for (const { table, column, id } of encryptedColumns) {
    const { rows } = await sql<{ id: string; encrypted: ReturnType<typeof encrypt> }>`
      SELECT ${sql.ref(id)}::text AS id, ${sql.ref(column)} AS encrypted FROM ${sql.table(table)}
      WHERE ${sql.ref(column)} IS NOT NULL`.execute(db)
    secrets.push(...rows.map((row) => decryptSecret(alone, row.id, row.encrypted)))
  }
  return secrets.sort()
}

const [providerId, flowId] = [randomUUID(), randomUUID()]
const factorIds = Array.from({ length: 250 }, () => randomUUID())

describe('auth keys reseal', () => {
  // ASVS 11.2.2
  it('encrypts every secret with the current key, batch by batch', async () => {
    const { user } = await createSignedUp(test.deps)
    await db
      .insertInto('signing_keys')
      .values({ kid: 'k', alg: 'ES256', state: 'next', private_sealed: encrypt('k', 'signing key'), public_jwk: null })
      .execute()
    const at = test.clock.now()
    await db
      .insertInto('custom_oauth_providers')
      .values({
        id: providerId,
        identifier: 'x',
        client_secret: encrypt(providerId, 'client'),
        settings: {},
        created_at: at,
        updated_at: at,
      })
      .execute()
    await db
      .insertInto('flow_state')
      .values({
        id: flowId,
        provider_type: 'x',
        authentication_method: 'oauth',
        provider_pkce_verifier: encrypt(flowId, 'verifier'),
        oauth1_secret: encrypt(flowId, 'request secret'),
        provider_access_token: encrypt(flowId, 'access'),
        provider_refresh_token: encrypt(flowId, 'refresh'),
      })
      .execute()
    const factors = factorIds.map((factorId) => ({
      id: factorId,
      user_id: user.id,
      factor_type: 'totp',
      sealed_secret: encrypt(factorId, 'totp'),
    }))
    await db.insertInto('mfa_factors').values(factors.map(factorRow)).execute()

    await db.transaction().execute(async (trx) => {
      const held = trx
        .selectFrom('mfa_factors')
        .select('id')
        .where('id', '=', factorIds[7] ?? '')
      await held.forUpdate().execute()
      await expect(reseal()).rejects.toThrow('1 secrets were being changed meanwhile: run it again')
    })
    expect(await reseal()).toEqual([
      'mfa_factors.sealed_secret: 1 encrypted again',
      `every secret is encrypted with key ${alone.current.id}`,
    ])
    const columns = encryptedColumns.map(({ table, column }) => ({ table, column, sealed: 0 }))
    const [document = '', ...more] = await reseal(changed, '--json')
    expect([JSON.parse(document), more]).toEqual([{ key_id: alone.current.id, columns }, []])
    const others = ['access', 'client', 'refresh', 'request secret', 'signing key', 'verifier']
    expect(await openAll()).toEqual([...others, ...Array(250).fill('totp')].sort())
  })

  it('stops at a secret whose key is unknown', async () => {
    const encrypted = encryptSecret({ encryptionKeys: alone, randomBytes }, 'strange', 'signing key')
    const strange = { kid: 'strange', alg: 'ES256', state: 'next', private_sealed: encrypted, public_jwk: null }
    await db.insertInto('signing_keys').values(strange).execute()
    onTestFinished(async () => {
      await db.deleteFrom('signing_keys').where('kid', '=', 'strange').execute()
    })
    await expect(reseal(createEncryptionKeys(oldKey, []))).rejects.toThrow(`no encryption key ${alone.current.id}`)
  })
})
