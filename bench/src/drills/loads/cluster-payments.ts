import { type CitusCluster, PASSWORD } from '../../servers/citus-cluster.ts'
import { type Deployment, deploy } from '../../servers/deployment.ts'
import type { Server } from '../../servers/server.ts'
import type { Workplace } from '../../servers/workplace.ts'
import { countReferences } from './acknowledgements.ts'
import type { ClientRequest } from './send.ts'

export const DATABASE = 'trestle'

const SETTINGS = {
  PAYMENTS_RATE_KEY: '0',
  PAYMENTS_RATE_APPS: '0',
  PAYMENTS_RATE_FAILURES: '0',
  PAYMENTS_NODE_PASSWORD: PASSWORD,
  PAYMENTS_ALLOW_SEED: 'yes',
}

/** Creates the database on the coordinator, with the merchants of a shop, not yet distributed. */
export async function deployPayments(
  workplace: Workplace,
  cluster: CitusCluster,
  shop: ClusterShop,
): Promise<Deployment> {
  const deployment = await deploy('payments', {
    folder: workplace.folder,
    databaseUrl: await cluster.create(DATABASE),
    env: SETTINGS,
  })
  await deployment.runCommand('seed', workplace.write('seed.json', JSON.stringify(shop.seed)))
  return deployment
}

/** @returns the output of `payments distribute` */
export async function distribute(cluster: CitusCluster, { runCommand }: Deployment): Promise<string> {
  await cluster.join(DATABASE)
  await cluster.introduceOwner(DATABASE)
  return runCommand('distribute')
}

const WRITES = ['trail_entries', 'transactions']
  .map(
    (table) => `SELECT reference, count(*) AS times FROM payments.${table} WHERE reference LIKE 'write-%' GROUP BY 1`,
  )
  .join(' UNION ALL ')

/** The number of stored rows of each write, by reference. */
export async function countWrites({ asSuperuser }: CitusCluster): Promise<ReadonlyMap<string, number>> {
  return countReferences(await asSuperuser(0, DATABASE, WRITES))
}

/**
 * Starts a service process that connects to some servers of the cluster.
 * @param settings further environment variables of the process
 */
export function startPayments(
  cluster: CitusCluster,
  deployment: Deployment,
  nodes: readonly number[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const coordinator = cluster.url(DATABASE)
  const env = {
    PAYMENTS_DATABASE_URL: coordinator.replace(cluster.address(0), nodes.map(cluster.address).join(',')),
    PAYMENTS_COORDINATOR_URL: coordinator,
    ...settings,
  }
  return deployment.start({ env })
}

/**
 * The objects to which a drill on a cluster writes: an app, and merchants with transactions to capture, refund and charge again.
 */
export interface ClusterShop {
  readonly seed: object
  readonly merchantIds: readonly string[]
  /** The headers of requests by a member of every merchant. */
  readonly headers: Readonly<Record<string, string>>
  /** A random write for a merchant, by position in the list. The reference is stored with the write. */
  nextWrite(merchant: number): (reference: string) => ClientRequest
}

const APP = { id: '555eca95ed59804d2cf12b11', key: '4ff7de37-dddf-4e51-8cc9-48b61a102923' }
const CARD = { number: '4100000000000000', expiry: { month: 8, year: 2066 } }
/** A trail has at most 200 captures, so a merchant has several transactions. */
const CAPTURED_EACH = 6
const REFUNDED_EACH = 3
const AMOUNT = 10_000_000
/** The tag of the first merchant. The ids of a merchant's objects end with its tag. */
const FIRST_TAG = 0xdbd00000

/** The ids are the same in each run. */
export function createShop(merchantCount: number): ClusterShop {
  const tags = Array.from({ length: merchantCount }, (_, nth) => (FIRST_TAG + nth).toString(16))
  const merchantIds = tags.map((tag) => `55006bdf00000000${tag}`)
  const transactionId = (tag: string | undefined, of: number) => `560fd96b${of.toString(16).padStart(8, '0')}${tag}`
  const headers = { authorization: `Basic ${Buffer.from(`:${APP.key}`).toString('base64')}` }
  return {
    seed: {
      apps: [{ ...APP, name: 'Shop' }],
      merchants: tags.map((_, nth) => merchantOf(merchantIds[nth] ?? '', nth)),
      transactions: tags.flatMap((tag, nth) =>
        Array.from({ length: CAPTURED_EACH + REFUNDED_EACH }, (_, of) => ({
          id: transactionId(tag, of),
          merchantId: merchantIds[nth],
          currency: 'DKK',
          amount: AMOUNT,
          card: CARD,
          operations: of < CAPTURED_EACH ? [] : [{ capture: AMOUNT }],
        })),
      ),
    },
    merchantIds,
    headers,
    nextWrite: (merchant) => {
      const kind = Math.random()
      const toRefund = CAPTURED_EACH + anyBelow(REFUNDED_EACH)
      const id = transactionId(tags[merchant], kind < 0.5 ? anyBelow(CAPTURED_EACH) : toRefund)
      const [path, body] =
        kind < 0.5
          ? [`/transactions/${id}/captures`, { amount: 1 }]
          : kind < 0.75
            ? [`/transactions/${id}/refunds`, { amount: 1 }]
            : [`/merchants/${merchantIds[merchant]}/transactions`, { transactionId: id, currency: 'DKK', amount: 100 }]
      return (reference) => ({
        method: 'POST',
        path,
        headers: { ...headers, 'idempotency-key': reference },
        body: { ...body, reference },
      })
    },
  }
}

function merchantOf(id: string, nth: number): object {
  return {
    id,
    key: `3e9c6c4f-9c9b-4c77-8b0f-${nth.toString(16).padStart(12, '0')}`,
    apps: [APP.id],
    currency: 'DKK',
    test: true,
    email: 'a@example.com',
    website: 'https://example.com',
    descriptor: 'Coffee',
    company: { country: 'DK' },
  }
}

function anyBelow(limit: number): number {
  return Math.floor(Math.random() * limit)
}
