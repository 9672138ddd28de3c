import { Command } from 'commander'
import { createMetrics } from '../telemetry/metrics.ts'

/**
 * Creates the command `warm-up` of a service, which loads all modules that serving needs. The build of an image runs it once, to
 * fill Node's compile cache.
 * @param loadService loads the service, including the modules that it otherwise loads late
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
