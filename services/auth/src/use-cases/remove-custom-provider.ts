import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { deleteCustomProvider } from '../external-providers/custom-provider-repository.ts'
import type { Admin } from '../sessions/admin.ts'

/** Removes a provider (reference: Custom providers). @throws customProviderNotFound */
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
