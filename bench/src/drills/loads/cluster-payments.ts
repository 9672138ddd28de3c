import { type CitusCluster, PASSWORD } from '../../servers/citus-cluster.ts'
import { type Deployment, deploy } from '../../servers/deployment.ts'
import type { Server } from '../../servers/server.ts'
import type { Workplace } from '../../servers/workplace.ts'
import { countReferences } from './acknowledgements.ts'
import type { ClusterShop } from './cluster-shop.ts'

/** The database of payments on a cluster. */
export const DATABASE = 'trestle'

const SETTINGS = {
  PAYMENTS_RATE_KEY: '0',
  PAYMENTS_RATE_APPS: '0',
  PAYMENTS_RATE_FAILURES: '0',
  PAYMENTS_NODE_PASSWORD: PASSWORD,
  PAYMENTS_ALLOW_SEED: 'yes',
}

/** Makes the database on the coordinator alone, with the merchants of a shop. Nothing is distributed yet. */
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

/** Distributes the database over the servers of the cluster. @returns what `payments distribute` printed */
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

/** The writes of a load that are stored, by their references, and how often each is. */
export async function countWrites({ asSuperuser }: CitusCluster): Promise<ReadonlyMap<string, number>> {
  return countReferences(await asSuperuser(0, DATABASE, WRITES))
}

/**
 * Starts a process of the service that enters the cluster by some of its servers.
 * @param settings environment variables of the process besides
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
