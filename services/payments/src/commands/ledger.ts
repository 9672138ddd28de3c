import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { printable, printableJson } from '@trestle/common/lifecycle/printable.ts'
import { Command } from 'commander'
import { insertVerification } from '../ledger/verification.ts'
import { type ChainHeads, type VerifiedMerchant, type Violation, verifyLedger } from '../use-cases/verify-ledger.ts'
import { explainRefusal, type Operator } from './operator-command.ts'

interface VerifyOptions {
  readonly merchant?: string
  /** True when the option has no file. */
  readonly head?: string | true
  readonly json?: true
}

/** `payments ledger verify`: recomputes the ledger and prints a line for each finding. It fails when there is one. */
export function ledgerCommand(operator: Operator): Command {
  const group = new Command('ledger').exitOverride().description('prove the ledger')
  group
    .command('verify')
    .description('recompute sums and hashes, and name the first row that was altered')
    .option('--merchant <id>', 'of one merchant alone')
    .option('--head [file]', 'print the end of every chain, to keep elsewhere; or compare with such a list')
    .option('--json', 'print a JSON object a line')
    .action((options: VerifyOptions) => verifyAll(operator, options))
  return group
}

/**
 * Verifies the ledger, and prints a line for each finding.
 * @throws Error when there is a finding
 */
export async function verifyAll({ open, print }: Operator, { merchant, head, json }: VerifyOptions): Promise<void> {
  const heads = typeof head === 'string' ? await readHeads(head) : new Map<string, ChainHeads>()
  const deps = await open()
  let [merchants, links, violations] = [0, 0n, 0]
  try {
    for await (const verified of verifyLedger(deps.database.db, { merchantId: merchant?.toLowerCase(), heads })) {
      merchants += 1
      links += verified.ledger.length + verified.states.length
      violations += verified.violations.length
      for (const violation of verified.violations) print(printViolation(violation, json))
      if (head === true) print(printHead(verified, json))
    }
    if (merchant === undefined)
      await insertVerification(deps.database.db, { merchants, links: Number(links), violations })
  } catch (error) {
    throw explainRefusal(error)
  } finally {
    await deps.close()
  }
  const summary = { merchants, links: Number(links), violations }
  if (head !== true || violations > 0) {
    print(json ? JSON.stringify(summary) : `${merchants} merchants, ${links} links, ${violations} violations`)
  }
  if (violations > 0) throw new Error('the ledger does not hold')
}

function printViolation(violation: Violation, json: true | undefined): string {
  const { merchantId, invariant, table, id, message } = violation
  if (json) return printableJson({ violation })
  const row = table === null ? '' : ` ${table} ${id}`
  return printable(`${merchantId}${row}: ${message} (invariant ${invariant})`)
}

function printHead({ merchantId, ledger, states }: VerifiedMerchant, json: true | undefined): string {
  const [head, stateHead] = [ledger.head.toString('hex'), states.head.toString('hex')]
  if (!json) return `${merchantId} ${ledger.length} ${head} ${states.length} ${stateHead}`
  return JSON.stringify({
    merchantId,
    length: Number(ledger.length),
    head,
    stateLength: Number(states.length),
    stateHead,
  })
}

/**
 * Reads a list of heads that `--head` printed, as text or JSON. Older lists have no heads of states.
 * @throws Error on a line that is neither
 */
async function readHeads(file: string): Promise<ReadonlyMap<string, ChainHeads>> {
  const heads = new Map<string, ChainHeads>()
  for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) {
    if (line.trim() === '') continue
    const { id, length, head, stateLength, stateHead } = (HEAD_TEXT.exec(line) ?? HEAD_JSON.exec(line))?.groups ?? {}
    if (id === undefined || length === undefined || head === undefined) throw new Error(`${file} is no list of heads`)
    const states = stateLength === undefined || stateHead === undefined ? undefined : toHead(stateLength, stateHead)
    heads.set(id, { ledger: toHead(length, head), states })
  }
  return heads
}

function toHead(length: string, head: string): ChainHeads['ledger'] {
  return { length: BigInt(length), head: Buffer.from(head, 'hex') }
}

const HEAD_TEXT =
  /^(?<id>[0-9a-f]{24}) (?<length>\d+) (?<head>[0-9a-f]{64})( (?<stateLength>\d+) (?<stateHead>[0-9a-f]{64}))?$/
const HEAD_JSON =
  /^\{"merchantId":"(?<id>[0-9a-f]{24})","length":(?<length>\d+),"head":"(?<head>[0-9a-f]{64})"(,"stateLength":(?<stateLength>\d+),"stateHead":"(?<stateHead>[0-9a-f]{64})")?\}$/
