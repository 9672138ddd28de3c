import { createPrivateKey, randomBytes } from 'node:crypto'
import { authMigrations } from '@trestle/migrations/auth.ts'
import { createAuthenticator, type SoftwareAuthenticator } from '@trestle/testing/software-authenticator.ts'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { AdoptionDeps } from '../../src/adoption/adoption-record.ts'
import { type Adoption, adoptDatabase, prepareAdoption } from '../../src/adoption/use-cases/adopt-database.ts'
import { loadAuthConfig } from '../../src/config.ts'
import { toEncryptionKeys } from '../../src/deps.ts'
import { openTestApp, type TestApp } from '../auth-app.ts'
import {
  giveToOwner,
  loadDump,
  type Manifest,
  type OldUser,
  ownerUrl,
  type RestoredDatabase,
  readManifest,
  restoreCopy,
  restoreDatabase,
  settingsFor,
  type Version,
} from './restored-database.ts'

/** A restored database of a test, and the dependencies of its adoption. */
export interface Restored {
  readonly database: RestoredDatabase
  readonly deps: AdoptionDeps
}

/**
 * Restores a database, with a clock that stands one second after its creation by the old server.
 * @param defer registers a function that drops the database. By default, it runs at the end of the test
 */
export async function restore(
  version: Version,
  defer: (drop: () => Promise<void>) => void = onTestFinished,
): Promise<Restored> {
  const database = await restoreDatabase(version)
  defer(() => database.drop())
  return withDeps(database)
}

function withDeps(database: RestoredDatabase): Restored {
  const config = loadAuthConfig({ ...settingsFor(database), AUTH_DB_PREPARED: 'true' })
  const now = clockOf(database.manifest)
  return { database, deps: { config, now, randomBytes, encryptionKeys: toEncryptionKeys(config) } }
}

/** A clock that stands one second after the old server created the database. */
export function clockOf({ made }: Manifest): () => Date {
  return () => new Date(Date.parse(made) + 1_000)
}

/** Adopts a database like the command. */
export function adopt({ deps }: Restored): Promise<Adoption> {
  return adoptDatabase(deps, { force: false, report: () => {} })
}

/** Prepares an adoption like `auth adopt --prepare`. */
export function prepare({ deps }: Restored): Promise<boolean> {
  return prepareAdoption(deps, { force: false, report: () => {} })
}

/** Copies a database that was adopted once for all tests. The copy is dropped at the end of the test. */
export async function restoreAdopted(version: Version): Promise<Restored> {
  const template = `auth adopted dump ${version} ${Object.keys(authMigrations).join(' ')}`
  const database = await restoreCopy(version, template, async (superuserUrl) => {
    await loadDump(superuserUrl, version)
    await giveToOwner(superuserUrl)
    const made = { superuserUrl, url: ownerUrl(superuserUrl), manifest: readManifest(version) }
    await adopt(withDeps({ ...made, drop: async () => {} }))
  })
  onTestFinished(() => database.drop())
  return withDeps(database)
}

/** Connects as the old server does: as the owner, with `auth` in the search path. Closes at the end of the test. */
export async function connectOld({ database: { url } }: Restored): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: `${url}?options=-csearch_path%3Dauth` })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

export interface AdoptedApp extends TestApp {
  /** Finds a user in the manifest. */
  readonly user: (name: string) => OldUser | undefined
  readonly restored: Restored
}

/** Opens the service on an adopted database, with the clock of the adoption. */
export async function openAdopted(
  restored: Restored,
  settings: Readonly<Record<string, string>> = {},
): Promise<AdoptedApp> {
  const { database, deps } = restored
  const test = await openTestApp({
    settings: { ...settingsFor(database), AUTH_DB_ROLE: '', ...settings },
    database: { ...database, entryUrl: database.url, directUrl: database.url },
    replace: () => ({ now: deps.now }),
  })
  onTestFinished(() => test.close())
  return { ...test, restored, user: (name) => database.manifest.users.find((user) => user.name === name) }
}

export async function openAdoptedVersion(
  version: Version,
  settings: Readonly<Record<string, string>> = {},
): Promise<AdoptedApp> {
  return openAdopted(await restoreAdopted(version), settings)
}

/** An authenticator with the credential that was registered at the old server. */
export function authenticatorOf({
  credential_id: id,
  private_key: key,
  user_handle: userHandle,
  counter,
}: StoredKey): SoftwareAuthenticator {
  const authenticator = createAuthenticator('http://localhost:3000')
  const privateKey = createPrivateKey({ key, format: 'jwk' })
  authenticator.credentials.push({ id, privateKey, userHandle, counter })
  return authenticator
}

type StoredKey = NonNullable<OldUser['passkey']>
