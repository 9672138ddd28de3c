import { Command, CommanderError } from 'commander'
import { expect, it } from 'vitest'
import { numberOption } from './operator-command.ts'

function read(...words: readonly string[]): unknown {
  const command = new Command()
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .addOption(numberOption('--limit <rows>', 'how many rows', { max: 100, usual: 20 }))
    .addOption(numberOption('--below <quantity>', 'less than this', { min: 0, max: 9 }))
  return command.parse(words, { from: 'user' }).opts()
}

it.each([
  [[], { limit: 20 }],
  [['--limit', '1'], { limit: 1 }],
  [['--limit', '100'], { limit: 100 }],
  [['--below', '0'], { limit: 20, below: 0 }],
])('reads %j as the numbers %j, with the usual one for an option that is left out', (words, options) => {
  expect(read(...words)).toEqual(options)
})

it.each(['0', '101', '-1', '1.5', '1e1', ' 1', 'x', '', '9'.repeat(16)])('refuses %j as wrong usage', (text) => {
  const message = `error: option '--limit <rows>' argument '${text}' is invalid. It must be a whole number from 1 to 100.`
  expect(() => read(`--limit=${text}`)).toThrow(new CommanderError(1, 'commander.invalidArgument', message))
})
