import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'

/** Opens two resources, waits during the close of the second one, and prints its actions. */
const program = `
import { closeAtSignal } from ${JSON.stringify(new URL('close-at-signal.ts', import.meta.url).href)}
const missed = Promise.withResolvers()
const closing = (name, act) => async () => {
  act()
  await new Promise(setImmediate)
  console.log(name)
}
const forget = closeAtSignal(closing('forgotten', () => {}))
closeAtSignal(closing('first', () => {}))
closeAtSignal(closing('second', () => missed.reject(new Error('it is gone'))))
forget()
`

async function runUntilSignal(more: string) {
  const args = ['--input-type=module', '--eval', `${program}${more}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = text(child.stdout)
  child.stdout.once('data', () => child.kill('SIGTERM'))
  const [code] = await once(child, 'exit')
  return { code, lines: (await said).trim().split('\n') }
}

describe('closeAtSignal', () => {
  it('closes everything in reverse order before the process ends', async () => {
    const waiting = `setInterval(() => {}, 1_000)\nconsole.log('ready')\nawait missed.promise`
    expect(await runUntilSignal(waiting)).toEqual({ code: 1, lines: ['ready', 'second', 'first'] })
  })

  it('does not end a program that handles the signal itself', async () => {
    const listening = `process.on('SIGTERM', () => setTimeout(() => process.exit(3), 50))\nconsole.log('ready')\nawait missed.promise`
    expect(await runUntilSignal(`setInterval(() => {}, 1_000)\n${listening}`)).toEqual({ code: 3, lines: ['ready'] })
  })
})
