import { createHash } from 'node:crypto'
import { duration, oneOf, port, secret, text, url } from '../../packages/common/src/config/setting.ts'
import { group } from '../../packages/common/src/config/setting-description.ts'
import { LOG_LEVELS } from '../../packages/common/src/telemetry/logger.ts'
import { databaseUrl } from '../../packages/service/src/database-settings.ts'

/** Docker Compose's operator keys for development, by role, and their digests for the services. */
const DEVELOPMENT_KEYS =
  'viewer:development-only-operator-key-viewer,support:development-only-operator-key-support,admin:development-only-operator-key-admin'
const DEVELOPMENT_DIGESTS = DEVELOPMENT_KEYS.split(',')
  .map((entry) => entry.split(':'))
  .map(([role = '', key = '']) => `console-${role}:${role}:${createHash('sha256').update(key).digest('hex')}`)
  .join(',')

/** The settings of `npm start`, `npm test` and Docker Compose, in addition to those of the services. */
export const startSettings = {
  ...group('npm start, npm test, and all services', {
    DATABASE_URL: databaseUrl()
      .optional()
      .describe(
        'PostgreSQL of all services without a database setting of their own, such as `postgres://localhost:5432/trestle`. If it is not set, `npm start` starts a PostgreSQL of its own.',
      ),
    TEST_DATABASE_URL: databaseUrl()
      .optional()
      .describe(
        'PostgreSQL of the tests, which create and drop databases there. If it is not set, the tests start a PostgreSQL of their own.',
      ),
    TEST_POOLER_URL: databaseUrl()
      .optional()
      .describe('A pooler in transaction mode in front of that PostgreSQL. The tested code connects through it.'),
    TRESTLE_PORT_BASE: port()
      .optional()
      .describe(
        'First of the twelve ports of `npm start`, which then follow each other, in the order of the table in packages/stack/README.md. A port with a setting of its own keeps it. Choose one below 32768: Linux gives the ports from there to outgoing connections.',
      ),
    TRESTLE_HOME_PORT: port()
      .prefault('8083')
      .describe('Port of the page of `npm start`: links to everything, and where a sign-in by a mail arrives.'),
    MAIL_SMTP_PORT: port().prefault('1025').describe('Port of the mail catcher for SMTP.'),
    MAIL_WEB_PORT: port().prefault('8025').describe("Port of the mail catcher's web page."),
    TRESTLE_DATABASE_PORT: port().prefault('15432').describe('Port of the PostgreSQL that `npm start` starts.'),
    TRESTLE_DATA_DIRECTORY: text()
      .prefault('.data')
      .describe('Folder of `npm start`: data, logs, development secrets.'),
    TRESTLE_STATE_DIRECTORY: text()
      .prefault('/var/lib/trestle')
      .describe('For root only: the folder of that PostgreSQL when its user cannot reach the checkout.'),
    LOG_LEVEL: oneOf(...LOG_LEVELS)
      .prefault('info')
      .describe('The least severe messages that are logged, for services without a level of their own.'),
    OTEL_EXPORTER_OTLP_ENDPOINT: url()
      .prefault('http://localhost:4318')
      .describe(
        'Where traces, and metrics that are pushed, are sent by OTLP. The usual port for grpc is 4317. Only `npm start` reads this setting and the next two from this file; a service by itself reads them from the environment.',
      ),
    OTEL_EXPORTER_OTLP_HEADERS: secret()
      .optional()
      .describe('Headers that are sent with traces and metrics, as `name=value,name=value`.'),
    OTEL_RESOURCE_ATTRIBUTES: text()
      .optional()
      .describe(
        'Attributes of the process in traces and metrics, beside its name and version, as `name=value,name=value`.',
      ),
  }),
  ...group(
    {
      title: 'Docker Compose',
      about:
        'Docker Compose reads `.env` too, but passes on only the settings that `docker-compose.yml` names. Put any other, such as `INVENTORY_RATE_LIMIT`, into a `docker-compose.override.yml`.',
    },
    {
      POSTGRES_PASSWORD: secret()
        .prefault('trestle')
        .describe(
          'Password of its PostgreSQL, set when the database is created. Use only letters and digits: the password becomes part of a URL.',
        ),
      ...published('AUTH', '8081'),
      ...published('PAYMENTS', '8082'),
      ...published('INVENTORY', '8080'),
      ...published('CONSOLE', '8084'),
      ...published('MAIL', '8025'),
      OPERATOR_KEYS_OF_CONSOLE: secret()
        .prefault(DEVELOPMENT_KEYS)
        .describe(
          'Keys of the console for the three services, as `role:key,role:key`. services/console/README.md makes some.',
        ),
      OPERATOR_KEYS: text()
        .prefault(DEVELOPMENT_DIGESTS)
        .describe('The digests of these keys, which the services know, as `name:role:SHA-256,name:role:SHA-256`.'),
      SHUTDOWN_DELAY: duration()
        .prefault('2s')
        .describe(
          'How long the services take requests after SIGTERM, so that a load balancer notices. While requests still arrive, they take them for up to 10 s longer. Above 4 s, raise stop_grace_period too.',
        ),
      ...publishedBalanced('AUTH', '9081'),
      ...publishedBalanced('PAYMENTS', '9082'),
      ...publishedBalanced('INVENTORY', '9080'),
      PUBLISH_CITUS_PAYMENTS: text()
        .prefault('127.0.0.1:9083')
        .describe('Profile citus: address and port of payments on a Citus cluster.'),
      PUBLISH_PROMETHEUS: text()
        .prefault('127.0.0.1:9090')
        .describe('Profile observability: address and port of Prometheus.'),
      PUBLISH_GRAFANA: text()
        .prefault('127.0.0.1:3001')
        .describe('Profile observability: address and port of Grafana.'),
      GRAFANA_PASSWORD: secret()
        .prefault('trestle')
        .describe("Profile observability: password of Grafana's user admin."),
    },
  ),
} as const

function published(name: string, portNumber: string) {
  return {
    [`PUBLISH_${name}`]: text()
      .prefault(`127.0.0.1:${portNumber}`)
      .describe(
        "Address and port of a service, or of Mailpit's page. Several processes of a service need a range of ports.",
      ),
  }
}

function publishedBalanced(name: string, portNumber: string) {
  return {
    [`PUBLISH_BALANCED_${name}`]: text()
      .prefault(`127.0.0.1:${portNumber}`)
      .describe('Profile replicas: address and port of a service behind the load balancer.'),
  }
}
