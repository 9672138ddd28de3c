import type { FastifyInstance } from 'fastify'

/**
 * Adds the path that says that the server is ready, and listens on PORT until SIGTERM.
 * @throws Error when the setting of the port is missing
 */
export async function listen(app: FastifyInstance): Promise<void> {
  app.get('/ready', async () => 'ready')
  process.on('SIGTERM', () => process.exit(0))
  await app.listen({ host: '127.0.0.1', port: Number(setting('PORT')) })
}

/** The environment of a reference server. @throws Error when a setting is missing. */
export function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}
