import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { commandsOf, type ListedCommand } from './test/service-commands.ts'

it.each([
  ['auth', 'services/auth/README.md'],
  ['payments', 'services/payments/README.md'],
  ['payments', 'docs/reference/payments.md'],
  ['inventory', 'services/inventory/README.md'],
  ['console', 'services/console/README.md'],
])('the commands and options that %s --help prints are listed in %s', async (service, file) => {
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8')
  const commands = await commandsOf(service)
  const printed = ['serve', ...commands.flatMap((command) => linesOf(command))]
  expect([...new Set(listedIn(text, service))].sort()).toEqual(printed.sort())
})

it.each([
  ['auth', 'services/auth/README.md'],
  ['payments', 'services/payments/README.md'],
  ['payments', 'docs/reference/payments.md'],
  ['inventory', 'services/inventory/README.md'],
  ['inventory', 'docs/reference/inventory.md'],
  ['console', 'services/console/README.md'],
])('what %s doctor --help says that it checks stands in %s', async (service, file) => {
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8')
  const doctor = (await commandsOf(service)).find((command) => command.name() === 'doctor')
  const row = new RegExp(`^\\| \`(${service} )?doctor\` \\| checks (.*), and says what to do \\|$`, 'm').exec(text)
  expect(doctor?.description()).toBe(`check ${row?.[2]}, and say what to do`)
})

/** All subcommands, and each with each of its options: `keys add`, `keys add --alg`. */
function linesOf(command: ListedCommand, above = ''): readonly string[] {
  const path = `${above}${command.name()}`
  // All commands of operators have this option, so the README mentions it only once.
  const options = command.options.map(({ long }) => long).filter((long) => long !== '--json')
  return [
    ...(command.commands.length === 0 ? [path] : []),
    ...options.map((long) => `${path} ${long}`),
    ...command.commands.flatMap((below) => linesOf(below, `${path} `)),
  ]
}

/**
 * The same lines from the first cells of the table under `## Commands`. There `promote\|retire` stands for two commands, and
 * `[--test\|--live]` for two options.
 */
function listedIn(text: string, service: string): readonly string[] {
  const [, section = ''] = text.split('\n## Commands\n')
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
  const options = words.filter((word) => /^\[?--/.test(word)).flatMap((word) => word.match(/--[a-z-]+/g) ?? [])
  return paths.flatMap((path) => [path, ...options.map((option) => `${path} ${option}`)])
}
