import { once } from 'node:events'
import { createServer } from 'node:net'
import { portOf } from '@trestle/testing/free-port.ts'
import { describe, expect, it } from 'vitest'
import { StackFailure } from '../stack-failure.ts'
import { requireFreePorts } from './free-ports.ts'

const want = (port: number, setting: string) => ({ purpose: 'auth', host: '127.0.0.1', port, setting })

describe('requireFreePorts', () => {
  it('names every port that is in use or wanted twice, and the setting that changes it', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const taken = portOf(server)
    await expect(requireFreePorts([want(taken, 'A_PORT'), want(taken, 'B_PORT')])).rejects.toEqual(
      new StackFailure([
        `Port ${taken} (auth) is in use by another program. Stop that, or set A_PORT.`,
        `A_PORT and B_PORT are both ${taken}; give one of them another port.`,
      ]),
    )
    server.close()
    await once(server, 'close')
    await expect(requireFreePorts([want(taken, 'A_PORT')])).resolves.toBeUndefined()
  })
})
