import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { deleteCustomProvider } from '../external-providers/custom-provider-repository.ts'
import type { Admin } from '../sessions/admin.ts'

/** A provider, and the admin who removes it. */
export interface RemoveCustomProviderInput {
  readonly identifier: string
  readonly admin: Admin
  /** The client's address, for the audit log. */
  readonly ip: string
}

/** Removes a provider (reference: Custom providers). @throws customProviderNotFound */
export async function removeCustomProvider(
  deps: Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now'>,
  { identifier, admin, ip }: RemoveCustomProviderInput,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const id = await deleteCustomProvider(trx, identifier)
    const traits = { provider: identifier, provider_id: id }
    await recordAudit(trx, deps, { action: 'provider_deleted', actor: admin.actor, ip, traits })
  })
}
