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

const USER_EXISTS = 422

/**
 * Creates the first operator of the console: a user of auth with the console role admin. An existing operator with a role stays
 * unchanged.
 * @throws StackFailure if auth refuses
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
  // An interrupted start may have created the user without the role.
  if (answer.status === USER_EXISTS && (await hasRole(AUTH_URL, { email, password }))) return
  if (!answer.ok && answer.status !== USER_EXISTS) {
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

/** Whether the operator has a role. Also `true` if the sign-in fails, because somebody has changed the password. */
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
  return !answer.ok || /"console_role":"/.test(text)
}
