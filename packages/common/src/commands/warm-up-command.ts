import { Command } from 'commander'
import { createMetrics } from '../telemetry/metrics.ts'

/**
 * The command `warm-up` of a service. It loads the modules that serving needs. An image runs it once, so that Node's compile
 * cache has all of them.
 * @param loadService loads the service, and the modules that it loads late
 */
export function warmUpCommand(loadService: () => Promise<unknown>): Command {
  return new Command('warm-up')
    .description('load everything that serving needs, for the compile cache of an image')
    .action(async () => {
      const metrics = await createMetrics({
        enabled: true,
        exporter: 'prometheus',
        host: '127.0.0.1',
        port: 0,
        resource: {},
      })
      await metrics.listen()
      await metrics.close()
      await loadService()
    })
}
