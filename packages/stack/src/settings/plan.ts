import { join } from 'node:path'
import { findSuggestion } from '@trestle/common/errors/suggestion.ts'
import type { WantedPort } from '../processes/free-ports.ts'
import { StackFailure } from '../stack-failure.ts'
import { dataDirectoryOf, type Environment } from './environment.ts'
import { isCountedFromBase, type PortSetting, portFrom } from './ports.ts'
import { addressOf, type ServiceAddress } from './service-environment.ts'
import { type ServiceDefinition, services } from './services.ts'

/** All actions of a start, decided before the start begins. */
export interface StackPlan {
  readonly root: string
  /** A part of the command line of the stack itself. */
  readonly program: string
  readonly dataDirectory: string
  /** The folder of PostgreSQL, used if its user cannot access the checkout. */
  readonly stateDirectory: string
  readonly runDirectory: string
  readonly logDirectory: string
  readonly env: Environment
  /** The port of the embedded PostgreSQL. `undefined` if the user has configured a database for every service. */
  readonly databasePort: number | undefined
  readonly homePort: number
  readonly homeUrl: string
  readonly smtpPort: number
  readonly webPort: number
  /** Whether at least one service sends mail. */
  readonly hasMail: boolean
  readonly services: readonly ServicePlan[]
  /** Whether to restart a service when its sources change. */
  readonly isWatched: boolean
  /** All ports that must be free. */
  readonly ports: readonly WantedPort[]
}

export interface ServicePlan {
  readonly definition: ServiceDefinition
  readonly address: ServiceAddress
  /** The absolute path of the program. */
  readonly entry: string
}

/** The request of the user: the arguments of `npm start` and the environment. */
export interface PlanRequest {
  readonly root: string
  readonly program: string
  readonly env: Environment
  /** The names of services. Empty means all services. */
  readonly names: readonly string[]
  readonly isWatched: boolean
  /** The names of the other commands. An unknown service name may be a misspelled command. */
  readonly commands?: readonly string[] | undefined
}

/** Plans a start. @throws StackFailure if a name or a setting is not valid */
export function planStack({ root, program, env, names, isWatched, commands = [] }: PlanRequest): StackPlan {
  const chosen = chooseServices(names, commands).map((definition) => ({
    definition,
    address: addressOf(definition, env),
    entry: join(root, 'services', definition.name, 'src', 'main.ts'),
  }))
  const dataDirectory = dataDirectoryOf(root, env)
  const hasOwnDatabases = chosen.every(
    ({ definition }) => definition.databaseSetting === undefined || env[definition.databaseSetting],
  )
  const homePort = portFrom(env, 'TRESTLE_HOME_PORT')
  const bare = {
    root,
    program,
    dataDirectory,
    stateDirectory: env.TRESTLE_STATE_DIRECTORY || '/var/lib/trestle',
    runDirectory: join(dataDirectory, 'run'),
    logDirectory: join(dataDirectory, 'logs'),
    env,
    databasePort: env.DATABASE_URL || hasOwnDatabases ? undefined : portFrom(env, 'TRESTLE_DATABASE_PORT'),
    homePort,
    homeUrl: `http://localhost:${homePort}`,
    smtpPort: portFrom(env, 'MAIL_SMTP_PORT'),
    webPort: portFrom(env, 'MAIL_WEB_PORT'),
    hasMail: chosen.some(({ definition }) => definition.sendsMail),
    services: chosen,
    isWatched,
  }
  return { ...bare, ports: portsOf(bare) }
}

/** Help for an unknown word such as `products`, which may be a command of a service. */
const WHERE_COMMANDS_ARE =
  'npm start -- --help lists the commands, and npm -s run inventory -- --help those of a service.'

function chooseServices(names: readonly string[], commands: readonly string[]): readonly ServiceDefinition[] {
  const unknown = names.filter((name) => !services.some((service) => service.name === name))
  if (unknown.length > 0) {
    const known = services.map(({ name }) => name)
    throw new StackFailure(
      unknown.map((name) => {
        const meant = findSuggestion(name, [...known, ...commands])
        const hint = meant === undefined ? WHERE_COMMANDS_ARE : `Did you mean ${meant}?`
        return `There is no service "${name}". The services are ${known.join(', ')}. ${hint}`
      }),
    )
  }
  return names.length === 0 ? services : services.filter(({ name }) => names.includes(name))
}

function portsOf(plan: Omit<StackPlan, 'ports'>): readonly WantedPort[] {
  const want = (purpose: string, setting: PortSetting, { host = '127.0.0.1', port, alias }: WantedAt): WantedPort => {
    return { purpose, host, port, setting, isCounted: isCountedFromBase(plan.env, setting, alias) }
  }
  const ofServices = plan.services.flatMap(({ definition: { name, portSetting, portAlias }, address }) => [
    want(name, portSetting, { ...address, alias: portAlias }),
    ...(address.metrics ? [want(`metrics of ${name}`, address.metrics.setting, address.metrics)] : []),
  ])
  const home = want('home page', 'TRESTLE_HOME_PORT', { port: plan.homePort })
  const ofMail = [
    want('mail, SMTP', 'MAIL_SMTP_PORT', { port: plan.smtpPort }),
    want('mail, web page', 'MAIL_WEB_PORT', { port: plan.webPort }),
  ]
  const { databasePort } = plan
  const ofDatabase =
    databasePort === undefined ? [] : [want('PostgreSQL', 'TRESTLE_DATABASE_PORT', { port: databasePort })]
  return [...ofServices, home, ...(plan.hasMail ? ofMail : []), ...ofDatabase]
}

interface WantedAt {
  readonly host?: string
  readonly port: number
  /** An alternative name of the setting. */
  readonly alias?: string | undefined
}
