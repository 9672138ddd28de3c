import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import { type Command, Option } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { ONE_ROW } from '../pagination/page-query.ts'
import { DELIVERY_STATUSES } from '../webhooks/delivery-attempt.ts'
import { findDeliveryJob, type ListedDelivery, listDeliveries } from '../webhooks/delivery-repository.ts'
import { findEvent } from '../webhooks/event-repository.ts'
import { viewEvent } from '../webhooks/event-view.ts'
import { callReplayWebhook } from '../webhooks/webhook-repository.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'
import { LIMIT_OPTION, readId } from './read-options.ts'

/** `payments deliveries …`: events on their way to webhooks. */
export function deliveriesCommand(operator: Operator): Command {
  return commandGroup(operator, 'deliveries', 'list, show and replay deliveries of events to webhooks', commands)
}

const commands: readonly OperatorCommand[] = [
  {
    usage: 'list',
    description: 'list the newest deliveries: those of the last hour, and all that wait or have failed',
    options: [
      ['--merchant <id>', 'of this merchant alone'],
      ['--webhook <id>', 'to this webhook alone'],
      new Option('--status <status>', 'only those').choices(DELIVERY_STATUSES),
      LIMIT_OPTION,
    ],
    run: list,
  },
  {
    usage: 'show <id>',
    description: 'show a delivery with the number of its attempts and its event',
    run: show,
  },
  {
    usage: 'replay <merchant> <webhook>',
    description: 'send events again; a disabled webhook is enabled',
    options: [['--after <event>', 'only what happened after this event; default: all of the last 30 days']],
    run: replay,
  },
]

async function list({ db, names }: OperatorDeps, { options, format }: CommandInput): Promise<object> {
  const { merchant, webhook, status, limit } = options
  const deliveries = await listDeliveries(db, names.jobSchema, {
    ...ONE_ROW,
    limit: Number(limit),
    merchantId: merchant === undefined ? undefined : readId('--merchant', merchant),
    webhookId: webhook === undefined ? undefined : readId('--webhook', webhook),
    status: DELIVERY_STATUSES.find((known) => known === status),
  })
  if (format === 'json') return deliveries.map(toPrinted)
  // Columns that fit 80 characters. A narrow terminal shrinks the last one first. `show` prints all.
  return deliveries.map(({ id, status: state, failure, type }) => ({ id, status: state, failure, type }))
}

async function show({ db, names }: OperatorDeps, { words: [id = ''], format }: CommandInput): Promise<object> {
  const found = UUID.test(id) ? await findDeliveryJob(db, names.jobSchema, id) : undefined
  if (found === undefined)
    throw new Error(`there is no delivery ${id}; the queue forgets one an hour after it was delivered or cancelled`)
  const delivery = toPrinted(found)
  const event = await findEvent(db, delivery.merchantId, delivery.eventId)
  if (event === undefined || format === 'json') return { ...delivery, event: event && viewEvent(event) }
  const { data, ...envelope } = viewEvent(event)
  return { ...delivery, event: [envelope], data: Object.entries(data).flatMap(describeObject) }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns the printed values of a delivery. Only the console shows its attempts. */
function toPrinted({
  created: _created,
  place: _place,
  ...delivery
}: ListedDelivery): object & Pick<ListedDelivery, 'merchantId' | 'eventId'> {
  return delivery
}

/** Returns a row for each field of an object of an event. */
function describeObject([noun, object]: readonly [string, unknown]): readonly object[] {
  const members = typeof object === 'object' && object !== null ? Object.entries(object) : []
  return members.flatMap(([member, value]) => (value === undefined ? [] : [{ object: noun, member, value }]))
}

async function replay(
  { pools }: OperatorDeps,
  { words: [merchant, webhook], options: { after } }: CommandInput,
): Promise<object> {
  const [merchantId, webhookId] = [readId('the merchant', merchant), readId('the webhook', webhook)]
  const input = { merchantId, webhookId, after: after === undefined ? '' : readId('--after', after) }
  const events = await callReplayWebhook(pools, input)
  if (events === undefined) throw new Error(`merchant ${merchantId} has no webhook ${webhookId}`)
  return { webhook: webhookId, events }
}
