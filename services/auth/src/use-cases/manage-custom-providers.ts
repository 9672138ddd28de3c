import { randomUUID } from 'node:crypto'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { customProviderChanged, customProviderExists, tooManyCustomProviders } from '../external-errors.ts'
import {
  type CustomProviderChanges,
  customIssuerOf,
  type NewCustomProvider,
  refuseOtherSubjects,
  sharesSubjects,
  subjectsOf,
} from '../external-providers/custom-provider.ts'
import {
  type CustomProvider,
  countLockedProviders,
  deleteCustomProvider,
  findCustomProvider,
  findDeletedSubjects,
  getCustomProvider,
  insertCustomProvider,
  updateCustomProvider,
} from '../external-providers/custom-provider-repository.ts'
import { type CompleteSettingsDeps, completeSettings } from '../external-providers/find-provider.ts'
import { hasIdentitiesOf, hasIdentitiesOfOtherIssuer } from '../identities/identity-repository.ts'
import { type EncryptionKeys, encryptSecret, type RandomBytes } from '../secrets/encrypted-secret.ts'
import type { Admin } from '../sessions/admin.ts'

type CreateCustomProviderDeps = AuditDeps &
  CompleteSettingsDeps & {
    readonly config: AuthConfig
    readonly db: Db
    readonly randomBytes: RandomBytes
    readonly encryptionKeys: EncryptionKeys
  }

/**
 * Adds a provider (reference: Custom providers). While a deleted provider has identities, its identifier can be used again only
 * with the same issuer and subject claim.
 */
export async function createCustomProvider(
  deps: CreateCustomProviderDeps,
  { provider, admin, ip }: { readonly admin: Admin; readonly ip: string; readonly provider: NewCustomProvider },
): Promise<CustomProvider> {
  const { config, db } = deps
  const { identifier, client_secret: secret, ...wanted } = provider
  const newCallback = config.compatibility.ownCallbackOfNewProviders ? 'own' : 'shared'
  // Call the issuer first, because its answer may take seconds and the transaction below holds a lock.
  const settings = await completeSettings(deps, { callback: newCallback, ...wanted })
  // Search before the lock, because the search reads all identities.
  const isInUse = await hasIdentitiesOfOtherIssuer(db, identifier, customIssuerOf(settings))
  const id = randomUUID()
  const encrypted = encryptSecret(deps, id, secret)
  const { providersMax } = config.external.custom
  return db.transaction().execute(async (trx) => {
    const count = await countLockedProviders(trx)
    if (await findCustomProvider(trx, identifier)) throw customProviderExists()
    if (isInUse) refuseOtherSubjects()
    const former = await findDeletedSubjects(trx, identifier)
    const isSame = former === undefined || sharesSubjects(former, subjectsOf(settings))
    if (!isSame && (await hasIdentitiesOf(trx, identifier))) refuseOtherSubjects()
    if (providersMax > 0 && count >= providersMax) throw tooManyCustomProviders()
    const created = await insertCustomProvider(trx, { id, identifier, secret: encrypted, settings }, deps.now())
    const traits = { provider: identifier, provider_id: id }
    await recordAudit(trx, deps, { action: 'provider_created', actor: admin.actor, ip, traits })
    return created
  })
}

/**
 * Changes a provider. Absent members do not change. The type and the identifier can never change, because identities refer to the
 * identifier and their ids belong to the type. While identities exist, the issuer and the subject claim cannot change either,
 * because a subject could then be another user.
 */
export async function changeCustomProvider(
  deps: AuditDeps &
    CompleteSettingsDeps & {
      readonly db: Db
      readonly randomBytes: RandomBytes
      readonly encryptionKeys: EncryptionKeys
    },
  {
    identifier,
    admin,
    ip,
    changes: { client_secret: secret, ...changes },
  }: {
    readonly admin: Admin
    readonly ip: string
    readonly identifier: string
    readonly changes: CustomProviderChanges
  },
): Promise<CustomProvider> {
  const provider = await getCustomProvider(deps.db, identifier)
  const settings = await completeSettings(deps, { ...provider.settings, ...changes })
  const encrypted = secret === undefined ? provider.secret : encryptSecret(deps, provider.id, secret)
  const members = Object.keys(secret === undefined ? changes : { ...changes, client_secret: secret })
  return deps.db.transaction().execute(async (trx) => {
    const changed = await updateCustomProvider(trx, provider, { secret: encrypted, settings }, deps.now())
    if (!changed) throw customProviderChanged()
    const isSame = sharesSubjects(subjectsOf(provider.settings), subjectsOf(settings))
    if (!isSame && (await hasIdentitiesOf(trx, identifier))) refuseOtherSubjects()
    const traits = { provider: identifier, provider_id: provider.id, changed: members }
    await recordAudit(trx, deps, { action: 'provider_updated', actor: admin.actor, ip, traits })
    return changed
  })
}

/** Removes a provider (reference: Custom providers). */
export async function removeCustomProvider(
  deps: AuditDeps & { readonly db: Db },
  { identifier, admin, ip }: { readonly identifier: string; readonly admin: Admin; readonly ip: string },
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const id = await deleteCustomProvider(trx, identifier)
    const traits = { provider: identifier, provider_id: id }
    await recordAudit(trx, deps, { action: 'provider_deleted', actor: admin.actor, ip, traits })
  })
}
