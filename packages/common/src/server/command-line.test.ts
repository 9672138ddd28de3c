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
  void runCommandLine(new Command(), process, { serve: () => new Promise(() => {}), loadOthers: async () => [] })
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
  await runCommandLine(new Command().option('-c <file>'), startedWith(...words).process, {
    serve: async () => void calls.push('serve'),
    loadOthers: async () => {
      calls.push('load')
      return [new Command('doctor').action(() => void calls.push('doctor'))]
    },
  })
  expect(calls).toEqual(expected)
})
