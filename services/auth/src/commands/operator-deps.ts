import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import { createLogger, type ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { createServiceLog } from '@trestle/service/create-service-log.ts'
import { findPooler } from '@trestle/service/prepare-database.ts'
import type { AuthConfig } from '../config.ts'
import { createDeps, type OperatorDeps, type ProcessDeps } from '../deps.ts'
import { resolveRedirect } from '../flows/redirect-allow-list.ts'
import { expectMigrations, expectOwnSchema } from '../open-database.ts'
import { openAuthTelemetry } from '../open-telemetry.ts'
import { parseId } from '../records/ids.ts'
import { isEmail, normaliseEmail, type UserIdentifier } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { Admin } from '../sessions/admin.ts'
import { findPhone, type PhoneDeps } from '../users/require-phone.ts'
import { findIdentifierOwner } from '../users/user-repository.ts'

/** Creates the dependencies of a process that serves no requests: no metrics, no traces and, by default, no log. */
export async function createQuietDeps(
  config: AuthConfig,
  log: Pick<ServiceLogger, 'logger'> = createLogger({ level: 'fatal', stdout: false }),
): Promise<ProcessDeps> {
  const server = { ...config.server, metrics: { ...config.server.metrics, enabled: false }, tracingEnabled: false }
  return createDeps(config, log, await openAuthTelemetry({ server }))
}

/**
 * Opens the dependencies of an operator's command. They are the same as those of the routes of admins.
 * @throws Error for the reasons why the service would not start: a pooler that drops settings, a schema in which other roles may
 * create functions, or pending migrations
 */
export async function openOperatorDeps(config: AuthConfig): Promise<OperatorDeps> {
  const log = createOperatorLog(config)
  const deps = await createQuietDeps(config, log)
  const close = async () => {
    await deps.jobs.close()
    await deps.close()
    await log.flush()
  }
  try {
    const pooler = await findPooler({ program: 'auth', ...config.database })
    if (pooler) throw pooler
    await expectOwnSchema(config)
    await expectMigrations(deps.database)
  } catch (error) {
    await close()
    throw error
  }
  return { ...deps, close }
}

/**
 * The log of commands. If AUDIT_LOG_DISABLE_POSTGRES keeps events out of the database, they go to the log file or to standard
 * error, because standard output contains the answer. Otherwise nothing is logged, and a failure is printed.
 */
function createOperatorLog({ server, database }: AuthConfig): ServiceLogger {
  if (database.auditInPostgres) return createLogger({ level: 'fatal', stdout: false })
  const base = { component: 'command' }
  if (server.logFile !== undefined)
    return createServiceLog({ level: 'info', stdout: false, file: server.logFile, base })
  return createServiceLog({ level: 'info', stdout: false, stderr: true, base })
}

/** The admin who runs a command, for the audit log (reference: Audit log). */
export const COMMAND_ADMIN: Admin = {
  userId: null,
  sessionId: null,
  requireMayManage: () => undefined,
  limitKey: undefined,
  actor: { id: null, email: 'operator', phone: null, userMetadata: {}, isSsoUser: false },
}

/** The caller of every command, for the use cases of admins. It acts on users of any audience and has no client address. */
export const BY_COMMAND = { admin: COMMAND_ADMIN, audience: undefined, ip: '' } as const

/**
 * The context of a command instead of a request. A command has no client, so rate limits do not apply.
 * @param wanted the address where the flow ends. By default, the address of the site
 * @throws Error if the redirect rules refuse this address
 */
export function operatorContext(
  { jwt, server, signup }: Pick<AuthConfig, 'jwt' | 'server' | 'signup'>,
  wanted?: string,
): RequestContext {
  const { redirectTo, refused } = resolveRedirect([{ source: 'form', redirectTo: wanted }], signup.redirects)
  if (refused) throw new Error(`--redirect-to is refused (${refused.rule}): add it to AUTH_URI_ALLOW_LIST`)
  const client = { ip: '', limitKey: undefined, network: undefined, userAgent: '' }
  return { ...client, audience: jwt.audience, redirectTo, linkBase: server.externalUrl }
}

/** Returns the id of a user, given by id, email or phone number. @throws Error if the user does not exist */
export async function requireUserId(
  deps: PhoneDeps,
  { words: [name = ''] }: Pick<CommandInput, 'words'>,
): Promise<string> {
  return getUserId(deps, name)
}

/** @throws Error if the email or phone number is unknown, or if the text is neither of them and not an id */
export async function getUserId(deps: PhoneDeps, name: string): Promise<string> {
  const id = parseId(name)
  if (id !== undefined) return id
  const owner = await findIdentifierOwner(deps.db, await readIdentifier(deps, name))
  if (owner === undefined || owner.pendingSince !== null) throw new Error(`there is no user ${name}`)
  return owner.id
}

async function readIdentifier(deps: PhoneDeps, name: string): Promise<UserIdentifier> {
  if (isEmail(name)) return { kind: 'email', value: normaliseEmail(name) }
  const phone = await findPhone(deps, name)
  if (phone === undefined) throw new Error(`${name} is no id, no email and no phone number`)
  return { kind: 'phone', value: phone }
}
