import { findSuggestion } from '@trestle/common/errors/suggestion.ts'
import type { Command } from 'commander'
import { isTriggered, TRIGGERED_TYPES, triggerEvent } from '../use-cases/trigger-event.ts'
import { type Operator, toCommand } from './operator-command.ts'
import { readId } from './read-options.ts'

/** `payments trigger <event>`: makes an event happen for real at a test merchant. */
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
