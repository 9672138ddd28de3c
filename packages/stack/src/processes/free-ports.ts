import { createServer } from 'node:net'
import { StackFailure } from '../stack-failure.ts'

/** A port that the stack will listen on, and the setting that changes it. */
export interface WantedPort {
  readonly purpose: string
  readonly host: string
  readonly port: number
  readonly setting: string
}

/**
 * Checks every port before anything is started.
 *
 * @throws StackFailure with one line for each port that is in use or wanted twice
 */
export async function requireFreePorts(wanted: readonly WantedPort[]): Promise<void> {
  const problems: string[] = []
  for (const [index, want] of wanted.entries()) {
    const earlier = wanted.slice(0, index).find((other) => other.port === want.port)
    if (earlier) {
      problems.push(`${earlier.setting} and ${want.setting} are both ${want.port}; give one of them another port.`)
      continue
    }
    const code = await tryPort(want)
    if (code === 'EADDRINUSE') {
      problems.push(
        `Port ${want.port} (${want.purpose}) is in use by another program. Stop that, or set ${want.setting}.`,
      )
    } else if (code !== undefined) {
      problems.push(`Port ${want.port} (${want.purpose}) cannot be opened: ${code}. Set ${want.setting} to another.`)
    }
  }
  if (problems.length > 0) throw new StackFailure(problems)
}

/** The error code of listening on a port; undefined when the port is free at this moment. */
export function tryPort({ host, port }: Pick<WantedPort, 'host' | 'port'>): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
