import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { StackFailure } from './stack-failure.ts'
import type { StackStatus } from './status/stack-status.ts'

/** The running stack in which the first operator is created, with its checkout and settings. */
export interface OperatorPlace {
  readonly status: StackStatus
  readonly root: string
  readonly dataDirectory: string
}

/** The status for a taken email. Auth also answers it for a password that its policy refuses, with another code. */
const UNPROCESSABLE = 422

/**
 * The statuses with which auth refuses a sign-in: for another password or a banned user, and if sign-ins by email are off
 * (auth reference: Password grant). All other errors say nothing about the user.
 */
const SIGN_IN_REFUSED: readonly number[] = [400, UNPROCESSABLE]

/**
 * Creates the first operator of the console: a user of auth with the console role admin. An existing operator with a role stays
 * unchanged.
 * @throws StackFailure if auth does not create the user, or cannot tell whether the user has a role
 */
export async function createFirstOperator({ status, root, dataDirectory }: OperatorPlace): Promise<void> {
  const { AUTH_URL, SERVICE_ROLE_KEY, CONSOLE_EMAIL: email, CONSOLE_PASSWORD: password } = status
  if (!AUTH_URL || !SERVICE_ROLE_KEY || !email || !password) return
  const answer = await fetch(`${AUTH_URL}/admin/users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SERVICE_ROLE_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email, password, email_confirm: true }),
  })
  const text = await answer.text()
  const isTaken = answer.status === UNPROCESSABLE && /"email_exists"/.test(text)
  // An interrupted start may have created the user without the role.
  if (isTaken && (await hasRole(AUTH_URL, { email, password }))) return
  if (!answer.ok && !isTaken) {
    throw new StackFailure([`The operator of the console was not made: auth answered ${answer.status} ${text.trim()}`])
  }
  const words = [
    'services/auth/src/main.ts',
    '-c',
    join(dataDirectory, 'auth.env'),
    'users',
    'assign-role',
    email,
    'admin',
  ]
  await promisify(execFile)(process.execPath, words, { cwd: root }).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message.trim() : String(cause)
    throw new StackFailure([`The operator of the console got no role: ${reason}`], { cause })
  })
}

/**
 * Returns whether the operator has a role. Also `true` if auth refuses the sign-in, because somebody has then changed the
 * password, the user or the settings.
 * @throws StackFailure if the sign-in fails for another reason, such as a limit or an unavailable database
 */
async function hasRole(
  url: string,
  credentials: { readonly email: string; readonly password: string },
): Promise<boolean> {
  const answer = await fetch(`${url}/token?grant_type=password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(credentials),
  })
  const text = await answer.text()
  if (answer.ok) return /"console_role":"/.test(text)
  if (SIGN_IN_REFUSED.includes(answer.status)) return true
  throw new StackFailure([
    `The role of the operator of the console was not checked: auth answered ${answer.status} ${text.trim()}`,
  ])
}
