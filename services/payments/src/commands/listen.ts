import { createHmac, type KeyObject } from 'node:crypto'
import { findSuggestion } from '@trestle/common/errors/suggestion.ts'
import { printable, printableJson } from '@trestle/common/lifecycle/printable.ts'
import { createOutbound, hostOf, type Outbound } from '@trestle/common/outbound/outbound.ts'
import { Command } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { findMerchant } from '../merchants/operator-merchant-repository.ts'
import { followEvents } from '../use-cases/follow-events.ts'
import { isTriggered, TRIGGERED_TYPES, triggerEvent } from '../use-cases/trigger-event.ts'
import { EVENT_TYPES, isEventType, type MerchantEvent } from '../webhooks/event.ts'
import { viewEvent } from '../webhooks/event-view.ts'
import { toDelivery } from '../webhooks/webhook.ts'
import { explainRefusal, type Operator, toCommand } from './operator-command.ts'
import { readId } from './read-options.ts'

interface ListenOptions {
  readonly forwardTo?: string
  readonly events?: string
  readonly merchant?: string
  readonly json?: true
}

/** The default signal, which never aborts. Tests pass a signal to stop the command. An operator stops the process instead. */
const NEVER = new AbortController().signal

/**
 * `payments listen --forward-to <url>`: sends events of test merchants to a program on this machine, in the form of webhook
 * deliveries. No webhook and no public address are needed.
 */
export function listenCommand(operator: Operator, signal: AbortSignal = NEVER): Command {
  return new Command('listen')
    .exitOverride()
    .description('send events of test merchants to a program on this machine, signed as webhooks get them')
    .option('--forward-to <url>', 'where to send them, such as localhost:3000/hook; without it they are only printed')
    .option('--events <types>', 'only these types, separated by commas')
    .option('--merchant <id>', 'only those of this test merchant')
    .option('--json', 'print a JSON document for each event, on a line')
    .action((options: ListenOptions) => listen(operator, options, signal))
}

async function listen(
  { open, print }: Operator,
  { forwardTo, events, merchant, json }: ListenOptions,
  signal: AbortSignal,
): Promise<void> {
  const url = forwardTo === undefined ? undefined : readUrl(forwardTo)
  const wanted = readTypes(events)
  const merchantId = merchant === undefined ? undefined : readId('--merchant', merchant)
  const deps = await open()
  try {
    if (merchantId !== undefined) await expectTestMerchant(deps, merchantId)
    const secret = secretOf(deps.pepper)
    print(json ? printableJson({ secret, forwardTo: url ?? null }) : greet(secret, url))
    const send = url === undefined ? undefined : openSender(deps, url, secret)
    for await (const event of followEvents(deps, { merchantId, signal })) {
      if (wanted.size > 0 && !wanted.has(event.type)) continue
      const outcome = await send?.(event)
      print(json ? printableJson({ event: viewEvent(event), ...viewOutcome(outcome) }) : describe(event, outcome))
    }
  } catch (error) {
    throw explainRefusal(error)
  } finally {
    await deps.close()
  }
}

/** Reads a URL. Adds `http://` to text such as `localhost:3000/hook`. */
function readUrl(text: string): string {
  const whole = /^https?:\/\//i.test(text) ? text : `http://${text}`
  if (URL.canParse(whole)) return new URL(whole).href
  throw new Error('--forward-to must be an address such as localhost:3000/hook')
}

function readTypes(text = ''): ReadonlySet<string> {
  const types = text.split(',').filter((type) => type !== '')
  for (const type of types) {
    if (!isEventType(type)) throw new Error(`there is no event ${type}; there are ${EVENT_TYPES.join(', ')}`)
  }
  return new Set(types)
}

async function expectTestMerchant({ db }: OperatorDeps, id: string): Promise<void> {
  const found = await findMerchant(db, id)
  if (!found) throw new Error(`there is no merchant ${id}`)
  if (!found.merchant.test) throw new Error(`merchant ${id} is live: make a webhook for its events`)
}

/**
 * Returns the secret that signs the events. Each run derives the same secret, so a developer copies it only once. No webhook uses
 * this secret.
 */
function secretOf(pepper: KeyObject): string {
  return createHmac('sha256', pepper).update('payments listen').digest('base64url')
}

function greet(secret: string, url: string | undefined): string {
  const where = url === undefined ? 'Events of test merchants are printed.' : `Events of test merchants go to ${url}.`
  return `${where} Secret of X-Signature: ${secret} (Ctrl-C to stop)`
}

type Outcome =
  | { readonly verdict: 'answered'; readonly status: number; readonly durationMs: number }
  | { readonly verdict: 'failed'; readonly failure: string; readonly durationMs: number }

const ANSWER_MS = 5_000
const ANSWER_BYTES_MAX = 65_536

function openSender({ now }: OperatorDeps, url: string, secret: string): (event: MerchantEvent) => Promise<Outcome> {
  const outbound: Outbound = createOutbound([hostOf(url)])
  return async (event) => {
    const started = now()
    const durationMs = () => now().getTime() - started.getTime()
    try {
      const { status } = await outbound.send({
        method: 'POST',
        url,
        ...toDelivery(event, [secret], started),
        timeoutMs: ANSWER_MS,
        bytesMax: ANSWER_BYTES_MAX,
        beyondMax: 'cut',
        notUtf8: 'replace',
        origin: 'operator',
      })
      return { verdict: 'answered', status, durationMs: durationMs() }
    } catch (error) {
      return { verdict: 'failed', failure: failureOf(error), durationMs: durationMs() }
    }
  }
}

function failureOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${ANSWER_MS / 1_000} s`
  if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return 'nothing listens there'
  return error instanceof Error ? error.message : String(error)
}

function viewOutcome(outcome: Outcome | undefined): object {
  switch (outcome?.verdict) {
    case undefined:
      return {}
    case 'answered':
      return { status: outcome.status, durationMs: outcome.durationMs }
    case 'failed':
      return { failure: outcome.failure, durationMs: outcome.durationMs }
  }
}

function describe({ id, type, created, merchantId }: MerchantEvent, outcome: Outcome | undefined): string {
  const line = `${created.toISOString()}  ${type.padEnd(TYPE_WIDTH)}  ${id}  merchant ${merchantId}`
  if (outcome === undefined) return line
  const answer = outcome.verdict === 'answered' ? String(outcome.status) : outcome.failure
  return printable(`${line}  ${answer} (${outcome.durationMs} ms)`)
}

const TYPE_WIDTH = Math.max(...EVENT_TYPES.map(({ length }) => length))

/** `payments trigger <event>`: causes a real event at a test merchant. */
export function triggerCommand(operator: Operator): Command {
  return toCommand(operator, {
    usage: 'trigger <event>',
    description: `make an event happen at a test merchant: ${TRIGGERED_TYPES.join(', ')}`,
    options: [['--merchant <id>', 'a test merchant; default: the newest, or a new one where there is none']],
    run: async (deps, { words: [type = ''], options: { merchant } }) => {
      if (!isTriggered(type)) throw new Error(describeUnknown(type))
      const merchantId = merchant === undefined ? undefined : readId('--merchant', merchant)
      return { event: type, ...(await triggerEvent(deps, { type, merchantId })) }
    },
  })
}

function describeUnknown(type: string): string {
  const meant = findSuggestion(type, TRIGGERED_TYPES)
  const question = meant === undefined ? '' : `; did you mean ${meant}?`
  return `cannot trigger ${type}; can trigger ${TRIGGERED_TYPES.join(', ')}${question}`
}
