import { fillAuth } from '../demo/fill-auth.ts'
import { fillInventory } from '../demo/fill-inventory.ts'
import { fillPayments } from '../demo/fill-payments.ts'
import { StackFailure } from '../stack-failure.ts'
import type { StackStatus } from '../status/stack-status.ts'

export interface DemoStack {
  /** Addresses and keys. A service that was not started is missing, and gets no data. */
  readonly status: StackStatus
  readonly root: string
  /** The folder with the settings of each service, such as `auth.env`, for operator commands. */
  readonly dataDirectory: string
  readonly say: (line: string) => void
}

/**
 * Fills the running services with a coffee shop: users, five weeks of payments, and stock. All data go through the services, so
 * their rules apply. Existing data are kept. A second run changes nothing, and a run after an interrupted one completes the data.
 *
 * @throws StackFailure if a service refuses a request
 */
export async function fillDemo({ status, say, ...folders }: DemoStack): Promise<void> {
  const { AUTH_URL, SERVICE_ROLE_KEY, PAYMENTS_URL, INVENTORY_URL } = status
  say('')
  say('Demo: the shop of Nordhavn Coffee')
  const fills = [
    AUTH_URL && SERVICE_ROLE_KEY && fillAuth({ url: AUTH_URL, serviceKey: SERVICE_ROLE_KEY }),
    PAYMENTS_URL && fillPayments({ url: PAYMENTS_URL, now: new Date(), ...folders }),
    INVENTORY_URL && fillInventory(INVENTORY_URL),
  ]
  for (const result of await Promise.allSettled(fills)) {
    if (result.status === 'rejected') throw asFailure(result.reason)
    for (const line of result.value || []) say(`  ${line}`)
  }
}

function asFailure(reason: unknown): StackFailure {
  if (reason instanceof StackFailure) return reason
  return new StackFailure([`The demo stopped: ${reason instanceof Error ? reason.message : String(reason)}`])
}
