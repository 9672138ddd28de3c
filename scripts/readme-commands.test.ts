import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { commandsOf, type ListedCommand } from './service-commands.ts'

it.each(['auth', 'payments', 'inventory'])(
  'the README of %s lists the commands and options that --help prints',
  async (service) => {
    const folder = join(import.meta.dirname, '../services', service)
    const commands = await commandsOf(service)
    const readme = readFileSync(join(folder, 'README.md'), 'utf8')
    const printed = ['serve', ...commands.flatMap((command) => linesOf(command))]
    expect([...new Set(listedIn(readme, service))].sort()).toEqual(printed.sort())
  },
)

/** Every command below a command, and each with each of its options: `keys add`, `keys add --alg`. */
function linesOf(command: ListedCommand, above = ''): readonly string[] {
  const path = `${above}${command.name()}`
  // Every command of operators has it, as the README says once.
  const options = command.options.map(({ long }) => long).filter((long) => long !== '--json')
  return [
    ...(command.commands.length === 0 ? [path] : []),
    ...options.map((long) => `${path} ${long}`),
    ...command.commands.flatMap((below) => linesOf(below, `${path} `)),
  ]
}

/** The same of the first cells in the table under `## Commands`, where `promote\|retire` stands for two commands. */
function listedIn(readme: string, service: string): readonly string[] {
  const [, section = ''] = readme.split('\n## Commands\n')
  const [own = ''] = section.split('\n## ')
  const cells = own.split('\n').flatMap((line) => /^\| (`.*?) (?<!\\)\|/.exec(line)?.[1] ?? [])
  return cells
    .flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll('\\|', '|')))
    .flatMap((code) => expand(code.replace(new RegExp(`^${service} `), '').split(' ')))
}

function expand(words: readonly string[]): readonly string[] {
  const isName = (word: string) => /^\[?[a-z][a-z|-]*\]?$/.test(word)
  const end = words.findIndex((word) => !isName(word))
  const names = end < 0 ? words : words.slice(0, end)
  const paths = names.reduce<readonly string[]>(
    (before, word) =>
      word
        .replaceAll(/[[\]]/g, '')
        .split('|')
        .flatMap((name) => before.map((path) => `${path} ${name}`.trim())),
    [''],
  )
  const options = words.flatMap((word) => /^\[?(--[a-z-]+)/.exec(word)?.[1] ?? [])
  return paths.flatMap((path) => [path, ...options.map((option) => `${path} ${option}`)])
}
