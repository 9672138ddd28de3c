import type { Command } from 'commander'
import { insertOperatorAudit } from '../access/audit-repository.ts'
import { rotateVault } from '../use-cases/rotate-vault.ts'
import { countSeals } from '../vault/rotation-repository.ts'
import { type Operation, type Operator, operationGroup } from './operation.ts'

/** `payments vault …`: the keys that card numbers and the secrets of webhooks are sealed with. */
export function vaultCommand(operator: Operator): Command {
  return operationGroup(
    operator,
    'vault',
    'look at the keys of card numbers and secrets of webhooks, and replace them',
    operations,
  )
}

const operations: readonly Operation[] = [
  {
    usage: 'keys',
    description: 'count the card numbers and secrets of each key',
    run: ({ database }) => countSeals(database.db),
  },
  {
    usage: 'rotate',
    description: 'seal every card number and secret with the first key of PAYMENTS_VAULT_KEYS; may be repeated',
    run: async (deps) => {
      const rotated = await rotateVault(deps)
      const answer = { ...rotated, keyId: deps.vault.keyId }
      await insertOperatorAudit(deps.database.db, { action: 'vault.rotated', payload: answer })
      return answer
    },
  },
]
