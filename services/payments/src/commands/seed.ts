import { readText } from '@trestle/common/config/environment.ts'
import type { Command } from 'commander'
import { readSeedFile } from '../seed/seed-file.ts'
import { seed } from '../use-cases/seed.ts'
import { type Operator, toCommand } from './operator-command.ts'

/** `payments seed <file>`: inserts objects with given ids and keys, for development and for tests of clients. */
export function seedCommand(operator: Operator): Command {
  return toCommand(operator, {
    usage: 'seed <file>',
    description: 'insert apps, merchants and transactions of a JSON file, with its ids and keys',
    run: async (deps, { words: [file = ''] }) => {
      if (!deps.config.seedAllowed) throw new Error('seeding needs PAYMENTS_ALLOW_SEED=yes')
      return seed(deps, readSeedFile(readText(file)))
    },
  })
}
