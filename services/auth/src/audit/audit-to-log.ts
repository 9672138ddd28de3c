import type { AuditAction, AuditDeps } from './audit-log.ts'

/** An event that a function of the database records, for where that is switched off. */
export interface LoggedEvent {
  readonly action: AuditAction
  readonly actorId: string
  readonly ip: string
}

/** Tells the log about an event where AUDIT_LOG_DISABLE_POSTGRES keeps it out of the database. */
export function auditToLog(deps: Omit<AuditDeps, 'now'>, { action, actorId, ip }: LoggedEvent): void {
  if (deps.config.database.auditInPostgres) return
  deps.logger.info({ auth_event: { actor_id: actorId, action, ip_address: ip } }, 'audit')
}
