import type { Command } from 'commander'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { rotateVault } from '../use-cases/rotate-vault.ts'
import { countKeyUses } from '../vault/rotation-repository.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'

/** `payments vault …`: manages the keys that encrypt card numbers and webhook secrets. */
export function vaultCommand(operator: Operator): Command {
  return commandGroup(
    operator,
    'vault',
    'look at the keys of card numbers and secrets of webhooks, and replace them',
    commands,
  )
}

const commands: readonly OperatorCommand[] = [
  {
    usage: 'keys',
    description: 'count card numbers and secrets by key',
    run: ({ db }) => countKeyUses(db),
  },
  {
    usage: 'rotate',
    description: 'encrypt all card numbers and secrets with the first key of PAYMENTS_VAULT_KEYS; may be repeated',
    run: async (deps) => {
      const rotated = await rotateVault(deps)
      const answer = { ...rotated, keyId: deps.vault.keyId }
      await insertOperatorAudit(deps.db, { action: 'vault.rotated', payload: answer })
      return answer
    },
  },
]
