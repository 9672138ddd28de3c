import { StackFailure } from '../stack-failure.ts'
import type { StackStatus } from '../status/stack-status.ts'

/** What the demo is given of the running stack. */
export interface DemoStack {
  /** Addresses and keys. A service that was not started is missing, and gets nothing. */
  readonly status: StackStatus
  /** The checkout. */
  readonly root: string
  /** The folder with the settings of each service, `auth.env` and others, for commands of operators. */
  readonly dataDirectory: string
  /** Prints a line for the user. */
  readonly say: (line: string) => void
}

/** People who may sign in to the demo. All have the same password. */
const people = [
  { email: 'ada@demo.trestle.localhost', user_metadata: { name: 'Ada Lovelace' } },
  { email: 'grace@demo.trestle.localhost', user_metadata: { name: 'Grace Hopper' } },
]
const PASSWORD = 'trestle demo 2026'

/**
 * Fills the running services with a demo. A second time changes nothing.
 *
 * @throws StackFailure when a service refuses
 */
export async function fillDemo({ status, say }: DemoStack): Promise<void> {
  const { AUTH_URL, SERVICE_ROLE_KEY } = status
  if (AUTH_URL === undefined || SERVICE_ROLE_KEY === undefined) return
  for (const person of people) {
    const response = await fetch(`${AUTH_URL}/admin/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SERVICE_ROLE_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...person, password: PASSWORD, email_confirm: true }),
    })
    const text = await response.text()
    if (response.ok) say(`Demo: ${person.email} may sign in with "${PASSWORD}"`)
    else if (!text.includes('email_exists')) throw new StackFailure([`The demo stopped: ${response.status} ${text}`])
  }
}
