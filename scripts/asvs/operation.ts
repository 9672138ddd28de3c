import { chapter } from './requirement.ts'

const OPERATOR = { documented: 'SECURITY.md#what-you-must-do' }
const CONNECTIONS = { documented: 'SECURITY.md#connections' }
const LOGS = { documented: 'docs/observability.md#logs' }
const NO_FOLDER = { notApplicable: 'the service serves no folder' }

/** Chapter V13: settings, secrets and connections. */
export const configuration = chapter('V13 Configuration', [
  ['13.1.1', 2, 'The documentation names all connections, and which of them users can name', CONNECTIONS],
  [
    '13.2.1',
    2,
    'Components authenticate to each other with credentials that change',
    {
      deviation: 'the logins of database, Redis and mail server are settings, and stay until an operator changes them',
    },
  ],
  [
    '13.2.2',
    2,
    'Components have only the rights that they need',
    {
      deviation:
        'with `…_DB_ROLE` and a login of its own for migrations; by default one login may change the schema too, so that a service starts on an empty database',
    },
  ],
  ['13.2.3', 2, 'There are no default credentials', OPERATOR],
  [
    '13.2.4',
    2,
    'A list names the systems that may be called',
    {
      auth: {
        deviation:
          'settings name them, but an admin may add a provider at any public address; private addresses need a setting',
      },
      payments: {
        deviation:
          'settings name them, but a merchant may add a webhook at any public https address; private addresses need a setting',
      },
    },
  ],
  [
    '13.2.5',
    2,
    'The web server has a list of what it may load',
    { notApplicable: 'the services are their own web servers; 13.2.4 is about their calls' },
  ],
  [
    '13.3.1',
    2,
    'Secrets live in a vault, not in sources',
    { deviation: 'secrets are settings; the operator chooses the vault that fills the environment' },
  ],
  ['13.3.2', 2, 'Only components that need a secret have it', OPERATOR],
  [
    '13.4.1',
    1,
    'No metadata of source control is deployed',
    { documented: 'README.md#in-containers', note: 'images hold what `.dockerignore` lists, and no `.git`' },
  ],
  ['13.4.2', 2, 'Debug modes are off in production', { auth: { notApplicable: 'there is no debug mode' } }],
  ['13.4.3', 2, 'There are no directory listings', { auth: NO_FOLDER, inventory: NO_FOLDER }],
  ['13.4.4', 2, 'TRACE is not supported'],
  ['13.4.5', 2, 'Documentation and metrics are exposed only on purpose'],
])

/** Chapter V16: logs and errors. */
export const logging = chapter('V16 Security logging and error handling', [
  ['16.1.1', 2, 'The documentation says what is logged, where to, and who may read it', LOGS],
  ['16.2.1', 2, 'Log lines say when, where, who and what'],
  ['16.2.2', 2, 'Times are UTC'],
  ['16.2.3', 2, 'Logs go only where the documentation says', LOGS],
  ['16.2.4', 2, 'Logs have one common format'],
  ['16.2.5', 2, 'Secrets are not logged'],
  ['16.3.1', 2, 'Successful and failed authentications are logged'],
  ['16.3.2', 2, 'Refusals for lack of rights are logged'],
  ['16.3.3', 2, 'Attempts to bypass controls are logged'],
  ['16.3.4', 2, 'Unexpected errors are logged'],
  ['16.4.1', 2, 'Values cannot forge log lines'],
  ['16.4.2', 2, 'Logs cannot be read or altered without rights', LOGS],
  ['16.4.3', 2, 'Logs go to a separate system', LOGS],
  ['16.5.1', 2, 'Errors reveal nothing internal to clients'],
  ['16.5.2', 2, 'The service stays secure while another system is away'],
  ['16.5.3', 2, 'An error never lets a request through'],
])
