import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { portOf } from '@trestle/testing/free-port.ts'
import { describe, expect, it } from 'vitest'
import { StackFailure } from '../stack-failure.ts'
import { requireFreePorts, requireNoOtherStack } from './free-ports.ts'
import { findCommandLine } from './process-identity.ts'

const want = (port: number, setting: string, isCounted = false) => {
  return { purpose: 'auth', host: '127.0.0.1', port, setting, isCounted }
}

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

  it('names a free base when the port is counted from another', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const taken = portOf(server)
    const failure: unknown = await requireFreePorts([want(taken, 'A_PORT', true)]).catch((error) => error)
    server.close()
    const advice = /\. Stop that, or use other ports: TRESTLE_PORT_BASE=(2\d|3[0-2])000 npm start$/
    expect(failure).toHaveProperty('problems', [expect.stringMatching(advice)])
  })

  it('proposes no base of which a port is in use', async () => {
    const server = createServer().listen(20_009, '127.0.0.1')
    // If another program already uses the port, the test works too.
    await Promise.race([once(server, 'listening'), once(server, 'error')])
    const failure: unknown = await requireFreePorts([want(20_009, 'A_PORT', true)]).catch((error) => error)
    server.close()
    expect(failure).toHaveProperty('problems', [expect.stringMatching(/TRESTLE_PORT_BASE=(2[1-9]|3[0-2])000 /)])
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
    const failure: unknown = await requireNoOtherStack(port, other).catch((error) => error)
    expect(failure).toBeInstanceOf(StackFailure)
    const problem = `Trestle is already running ${where}. Stop that first, or use other ports: TRESTLE_PORT_BASE=`
    expect(failure).toHaveProperty('problems', [expect.stringContaining(problem)])
    await expect(requireNoOtherStack(port, { ...other, program: '/another/program.ts' })).resolves.toBeUndefined()
    server.close()
    await once(server, 'close')
    await expect(requireNoOtherStack(port, other)).resolves.toBeUndefined()
  })
})
