import type { Command } from 'commander'
import { callReplayWebhook } from '../webhooks/webhook-repository.ts'
import { commandGroup, type Operator } from './operator-command.ts'

const ID = /^[0-9a-f]{24}$/

/** `payments deliveries …`: events on their way to webhooks. */
export function deliveriesCommand(operator: Operator): Command {
  return commandGroup(operator, 'deliveries', 'send events to webhooks again', [
    {
      usage: 'replay <merchant> <webhook>',
      description: 'send events again; a disabled webhook is enabled',
      options: [['--after <event>', 'only what happened after this event; default: all of the last 30 days']],
      run: async ({ database: { lanes } }, { words: [merchantId = '', webhookId = ''], options: { after } }) => {
        if (after !== undefined && !ID.test(String(after))) throw new Error('--after is no id of an event')
        const input = { merchantId, webhookId, after: after === undefined ? '' : String(after) }
        const events = await callReplayWebhook(lanes, input)
        if (events === undefined) throw new Error(`merchant ${merchantId} has no webhook ${webhookId}`)
        return { webhook: webhookId, events }
      },
    },
  ])
}
