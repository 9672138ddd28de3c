import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { isDeepStrictEqual } from 'node:util'
import { printable, printableJson } from '@trestle/common/lifecycle/printable.ts'
import { Command } from 'commander'
import { insertVerification } from '../ledger/ledger-repository.ts'
import { type ChainHeads, type VerifiedMerchant, type Violation, verifyLedger } from '../use-cases/verify-ledger.ts'
import { explainRefusal, type Operator } from './operator-command.ts'

interface VerifyOptions {
  readonly merchant?: string
  /** `true` if the option is given without a file. */
  readonly head?: string | true
  readonly json?: true
}

/** `payments ledger verify`: recomputes the ledger and prints a line for each violation. The command fails if it finds one. */
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

/** Verifies the ledger and prints a line for each violation. @throws Error if there is a violation */
export async function verifyAll({ open, print }: Operator, { merchant, head, json }: VerifyOptions): Promise<void> {
  const merchantId = merchant?.toLowerCase()
  const list = typeof head === 'string' ? await readHeads(head, merchantId) : undefined
  const heads = list ?? new Map<string, ChainHeads>()
  const lines = json ? JSON_LINES : TEXT_LINES
  const deps = await open()
  let [merchants, links, violations, compared] = [0, 0n, 0, 0]
  try {
    for await (const verified of verifyLedger(deps.db, { merchantId, heads })) {
      merchants += 1
      if (heads.has(verified.merchantId)) compared += 1
      links += verified.ledger.length + verified.states.length
      violations += verified.violations.length
      for (const violation of verified.violations) print(lines.violation(violation))
      if (head === true) print(lines.head(verified))
    }
    if (merchant === undefined) await insertVerification(deps.db, { merchants, links: Number(links), violations })
  } catch (error) {
    throw explainRefusal(error)
  } finally {
    await deps.close()
  }
  const summary = { merchants, links: Number(links), violations, compared: list && compared }
  if (head !== true || violations > 0) print(lines.summary(summary))
  if (violations > 0) throw new Error('the ledger does not hold')
}

interface Summary {
  readonly merchants: number
  readonly links: number
  readonly violations: number
  /** The number of merchants in the given list of heads. `undefined` without a list. */
  readonly compared: number | undefined
}

interface LineWriter {
  readonly violation: (violation: Violation) => string
  readonly head: (verified: VerifiedMerchant) => string
  readonly summary: (summary: Summary) => string
}

const TEXT_LINES: LineWriter = {
  violation: ({ merchantId, invariant, table, id, message }) =>
    printable(`${merchantId}${table === null ? '' : ` ${table} ${id}`}: ${message} (invariant ${invariant})`),
  head: ({ merchantId, ledger, states }) =>
    `${merchantId} ${ledger.length} ${ledger.head.toString('hex')} ${states.length} ${states.head.toString('hex')}`,
  summary: ({ merchants, links, violations, compared }) =>
    `${merchants} merchants, ${links} links, ${violations} violations${compared === undefined ? '' : `, ${compared} merchants compared with the list`}`,
}

const JSON_LINES: LineWriter = {
  violation: (violation) => printableJson({ violation }),
  head: ({ merchantId, ledger, states }) =>
    JSON.stringify({
      merchantId,
      length: Number(ledger.length),
      head: ledger.head.toString('hex'),
      stateLength: Number(states.length),
      stateHead: states.head.toString('hex'),
    }),
  summary: (summary) => JSON.stringify(summary),
}

/**
 * Reads a list of chain heads that `--head` printed, as text or JSON. Older lists contain only heads of the ledger, without heads
 * of states.
 * @param merchantId a merchant that the list must contain
 * @throws Error if a line is malformed, the list is empty, the list lacks the merchant, or a merchant has two different heads
 */
async function readHeads(file: string, merchantId: string | undefined): Promise<ReadonlyMap<string, ChainHeads>> {
  const heads = new Map<string, ChainHeads>()
  for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) {
    if (line.trim() === '') continue
    const { id, length, head, stateLength, stateHead } = (HEAD_TEXT.exec(line) ?? HEAD_JSON.exec(line))?.groups ?? {}
    if (id === undefined || length === undefined || head === undefined)
      throw new Error(`${file} is not a list of heads`)
    const states = stateLength === undefined || stateHead === undefined ? undefined : toHead(stateLength, stateHead)
    const ends = { ledger: toHead(length, head), states }
    if (!isDeepStrictEqual(heads.get(id) ?? ends, ends)) throw new Error(`${file} has two heads of merchant ${id}`)
    heads.set(id, ends)
  }
  if (heads.size === 0) throw new Error(`${file} has no heads`)
  if (merchantId !== undefined && !heads.has(merchantId))
    throw new Error(`${file} has no head of merchant ${merchantId}`)
  return heads
}

function toHead(length: string, head: string): ChainHeads['ledger'] {
  return { length: BigInt(length), head: Buffer.from(head, 'hex') }
}

const HEAD_TEXT =
  /^(?<id>[0-9a-f]{24}) (?<length>\d+) (?<head>[0-9a-f]{64})( (?<stateLength>\d+) (?<stateHead>[0-9a-f]{64}))?$/
const HEAD_JSON =
  /^\{"merchantId":"(?<id>[0-9a-f]{24})","length":(?<length>\d+),"head":"(?<head>[0-9a-f]{64})"(,"stateLength":(?<stateLength>\d+),"stateHead":"(?<stateHead>[0-9a-f]{64})")?\}$/
