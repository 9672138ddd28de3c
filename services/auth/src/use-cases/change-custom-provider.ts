import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { customProviderChanged } from '../external-errors.ts'
import {
  type CustomProviderChanges,
  refuseOtherSubjects,
  sharesSubjects,
  subjectsOf,
} from '../external-providers/custom-provider.ts'
import {
  type CustomProvider,
  getCustomProvider,
  updateCustomProvider,
} from '../external-providers/custom-provider-repository.ts'
import { type CompleteSettingsDeps, completeSettings } from '../external-providers/find-provider.ts'
import { hasIdentitiesOf } from '../identities/identity-repository.ts'
import { type EncryptionKeys, type RandomBytes, sealSecret } from '../secrets/sealed-secret.ts'
import type { Admin } from '../sessions/admin.ts'

/**
 * Changes a provider. Members that are not given stay. The type and the identifier can never change: identities name the
 * identifier, and their ids belong to that type of provider. Nor can the issuer or the claim of the subject while identities
 * exist: a subject would name somebody else.
 * @throws customProviderNotFound, customProviderChanged, customProviderInUse, and what `completeSettings` throws
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
  const sealed = secret === undefined ? provider.secret : sealSecret(deps, provider.id, secret)
  const members = Object.keys(secret === undefined ? changes : { ...changes, client_secret: secret })
  return deps.db.transaction().execute(async (trx) => {
    const changed = await updateCustomProvider(trx, provider, { secret: sealed, settings }, deps.now())
    if (!changed) throw customProviderChanged()
    const isSame = sharesSubjects(subjectsOf(provider.settings), subjectsOf(settings))
    if (!isSame && (await hasIdentitiesOf(trx, identifier))) refuseOtherSubjects()
    const traits = { provider: identifier, provider_id: provider.id, changed: members }
    await recordAudit(trx, deps, { action: 'provider_updated', actor: admin.actor, ip, traits })
    return changed
  })
}
