import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { portOf } from '@trestle/testing/free-port.ts'
import { describe, expect, it } from 'vitest'
import { StackFailure } from '../stack-failure.ts'
import { requireFreePorts, requireNoOtherStack } from './free-ports.ts'
import { findCommandLine } from './process-identity.ts'

const want = (port: number, setting: string) => ({ purpose: 'auth', host: '127.0.0.1', port, setting })

describe('requireFreePorts', () => {
  it('names every port that is in use or wanted twice, and the setting that changes it', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const taken = portOf(server)
    const failure: unknown = await requireFreePorts([want(taken, 'A_PORT'), want(taken, 'B_PORT')]).catch(
      (error) => error,
    )
    expect(failure).toBeInstanceOf(StackFailure)
    expect(failure).toHaveProperty('problems', [
      expect.stringMatching(
        new RegExp(
          `^Port ${taken} \\(auth\\) is in use by process ${process.pid} \\(.+\\)\\. Stop that, or set A_PORT\\.$`,
        ),
      ),
      `A_PORT and B_PORT are both ${taken}; give one of them another port.`,
    ])
    server.close()
    await once(server, 'close')
    await expect(requireFreePorts([want(taken, 'A_PORT')])).resolves.toBeUndefined()
  })

  it('tells an outgoing connection from a program that listens', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect(portOf(server), '127.0.0.1')
    await once(client, 'connect')
    const port = client.localPort ?? 0
    const advice = 'Try again, or choose ports below 32768: set A_PORT or TRESTLE_PORT_BASE.'
    await expect(requireFreePorts([want(port, 'A_PORT')])).rejects.toEqual(
      new StackFailure([`Port ${port} (auth) is in use by an outgoing connection of this machine. ${advice}`]),
    )
    client.destroy()
    server.close()
  })
})

describe('requireNoOtherStack', () => {
  it('names the process and the folder of another stack, and no other program', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const port = portOf(server)
    const commandLine = (await findCommandLine(process.pid)) ?? ''
    const other = { program: commandLine, root: '/elsewhere' }
    const where = `in ${process.cwd()} (process ${process.pid})`
    await expect(requireNoOtherStack(port, other)).rejects.toEqual(
      new StackFailure([
        `Trestle is already running ${where}. Stop that first, or use other ports: TRESTLE_PORT_BASE=20000 npm start`,
      ]),
    )
    await expect(requireNoOtherStack(port, { ...other, program: '/another/program.ts' })).resolves.toBeUndefined()
    server.close()
    await once(server, 'close')
    await expect(requireNoOtherStack(port, other)).resolves.toBeUndefined()
  })
})
