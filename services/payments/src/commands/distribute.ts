import { checkCluster } from '@trestle/citus/check-cluster.ts'
import {
  type DistributeOptions,
  type DistributionStep,
  distributeDatabase,
  distributionOf,
  planDistribution,
} from '@trestle/citus/distribute.ts'
import { isolateTenant, rebalance } from '@trestle/citus/grow.ts'
import { planUndo, undoDistribution } from '@trestle/citus/undo.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { passwordOf } from '@trestle/database/rights/roles.ts'
import { Command } from 'commander'
import type { PaymentsConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'
import { APPLICATION_NAME, LOCK_TIMEOUT_MS } from '../open-database.ts'
import { verifyAll } from './ledger.ts'
import type { Operator } from './operator-command.ts'

interface Words {
  readonly check?: true
  readonly dryRun?: true
  readonly rebalance?: true
  readonly isolate?: string
  readonly node?: string
  readonly undo?: true
}

/**
 * `payments distribute`: distributes the database over the servers of its Citus cluster, or moves all rows back to one server.
 * @param load called when the command runs, because `--help` needs no settings
 */
export function distributeCommand(operator: Operator, load: () => PaymentsConfig): Command {
  return new Command('distribute')
    .exitOverride()
    .description('distribute the database over the servers of its Citus cluster; run it again after it was killed')
    .option('--check', 'check the cluster and the tables, and change nothing')
    .option('--dry-run', 'print the statements that are left, to read, and run none; with --undo those of the way back')
    .option('--rebalance', 'prepare servers that were added, and move rows to them while the service goes on')
    .option('--isolate <merchant>', 'give a merchant the server --node')
    .option('--node <host:port>', 'a server of the cluster, as the coordinator knows it')
    .option('--undo', 'bring all rows back to the coordinator')
    .action(async (words: Words, command: Command) => {
      if (hasContradiction(words)) command.error('error: these options do not go together')
      const config = load()
      await runDistribute(words, { operator, options: distributeOptions(config) })
    })
}

function hasContradiction({ check, dryRun, rebalance: moves, isolate, node, undo }: Words): boolean {
  const acts = [check, moves, isolate, undo].filter((word) => word !== undefined)
  return (
    acts.length > 1 ||
    (node === undefined) !== (isolate === undefined) ||
    (dryRun === true && acts.length > Number(undo === true))
  )
}

interface Run {
  readonly operator: Operator
  readonly options: DistributeOptions
}

async function runDistribute(words: Words, { operator, options }: Run): Promise<void> {
  const { print } = operator
  if (words.dryRun) return printSteps(await (words.undo ? planUndo(options) : planDistribution(options)), print)
  if (words.rebalance) return rebalance(options, print)
  if (words.isolate !== undefined && words.node !== undefined) {
    await isolateTenant(options, { owner: words.isolate.toLowerCase(), node: words.node })
    return print(`${words.isolate} has its rows on ${words.node}`)
  }
  if (!words.undo) await check(options, words.check === true ? print : () => {})
  if (words.check) return
  const startMs = performance.now()
  const act = words.undo ? undoDistribution : distributeDatabase
  const count = await act(options, ({ title }, nth, of) => {
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1)
    print(`${nth}/${of} ${title} (${seconds} s)`)
  })
  if (count === 0) return print(words.undo ? 'the database is not distributed' : 'the database is distributed already')
  await verifyAll(operator, {})
}

/** @throws Error that lists all failed checks */
async function check(options: DistributeOptions, print: (line: string) => void): Promise<void> {
  const findings = await withDatabase(options, async (db) => checkCluster(db, await distributionOf(options)))
  for (const { name, isGood, text } of findings) print(`${isGood ? 'ok   ' : 'wrong'} ${name}: ${printable(text)}`)
  const wrong = findings.filter(({ isGood }) => !isGood)
  if (wrong.length > 0) throw new Error(wrong.map(({ name, text }) => `${name}: ${text}`).join('; '))
}

function printSteps(steps: readonly DistributionStep[], print: (line: string) => void): void {
  if (steps.length === 0) print('-- nothing is left to do')
  for (const { title, statements } of steps) {
    print(`-- ${title}`)
    for (const statement of statements) print(`${printable(hideVerifier(statement))};`)
  }
}

/** Hides the SCRAM verifier of a role. An attacker who has the verifier can test passwords against it offline. */
function hideVerifier(statement: string): string {
  return statement.replaceAll(/SCRAM-SHA-256\$[^']+/g, '…')
}

/**
 * Returns the options of the commands that distribute a database. The servers of the cluster log in to each other with two roles.
 * The role of operators uses the password of the operators' connection. So the password of the service alone gives nobody the
 * rights of an operator.
 */
export function distributeOptions(config: PaymentsConfig): DistributeOptions {
  const { nodePassword, operatorUrl, migrationUrl } = config.database
  const ofOperators = operatorUrl === undefined ? 'the connection of migrate' : 'PAYMENTS_OPERATOR_DATABASE_URL'
  return {
    ...migrateOptions(config),
    passwords: {
      service: { value: nodePassword, place: 'PAYMENTS_NODE_PASSWORD' },
      operators: { value: passwordOf(operatorUrl ?? migrationUrl), place: `the password of ${ofOperators}` },
    },
    column: 'merchant_id',
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    applicationName: APPLICATION_NAME,
  }
}
