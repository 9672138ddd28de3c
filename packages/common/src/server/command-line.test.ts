import { EventEmitter } from 'node:events'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { runCommandLine } from './command-line.ts'

/** A process that was started with some words; it notes its exits instead of ending. */
function startedWith(...words: readonly string[]) {
  const exits: number[] = []
  const exit = (code: number) => void exits.push(code)
  const process = Object.assign(new EventEmitter(), { argv: ['node', 'main.ts', ...words], exit })
  return { exits, process: process as unknown as NodeJS.Process }
}

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends a command that runs, also as the first process of a container', (signal, status) => {
  const { exits, process } = startedWith()
  const program = new Command().action(() => new Promise(() => {}))
  void runCommandLine(program, process, async () => [])
  process.emit(signal)
  expect(exits).toEqual([status])
})

it.each([
  [[], ['serve']],
  [['serve'], ['serve']],
  [['doctor'], ['load', 'doctor']],
  [
    ['-c', 'file', 'doctor'],
    ['load', 'doctor'],
  ],
])('loads other commands for them alone: %j', async (words, expected) => {
  const calls: string[] = []
  const program = new Command().option('-c <file>')
  program.command('serve', { isDefault: true }).action(() => void calls.push('serve'))
  await runCommandLine(program, startedWith(...words).process, async () => {
    calls.push('load')
    return [new Command('doctor').action(() => void calls.push('doctor'))]
  })
  expect(calls).toEqual(expected)
})
