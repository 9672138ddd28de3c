import { type ProviderStub, REFRESH_TOKEN } from './provider-stub.ts'

const bearer = { token_type: 'bearer', expires_in: 3_600, refresh_token: REFRESH_TOKEN }
const SLACK_USER = 'https://slack.com/user_id'
const SLACK_TEAM = 'https://slack.com/team_id'
const SNAPCHAT = 'https://auth.snapchat.com/oauth2/api/user'
const GRAPHQL = '%7Bme%20%7B%20externalId%20displayName%20bitmoji%20%7B%20avatar%20id%20%7D%20email%20%7D%20%7D'
/** The HMAC-SHA256 of the access token with the secret `facebook secret+`. */
const PROOF = '6783161ba37338e3577774f25cb6494b70461c958ae255a904648afc15055def'

/** The documented answers of the OAuth 2.0 providers, except Spotify, which verifies no addresses. */
export const OAUTH_STUBS: readonly ProviderStub[] = [
  {
    name: 'bitbucket',
    authorize: { url: 'https://bitbucket.org/site/oauth2/authorize', parameters: { scope: 'account email' } },
    token: { url: 'https://bitbucket.org/site/oauth2/access_token', auth: 'basic', answer: { ...bearer, scopes: 'x' } },
    resources: {
      'https://api.bitbucket.org/2.0/user': {
        body: {
          uuid: '{c788b2da-b7a2-404c-9e26-d3f077557007}',
          display_name: 'Ada',
          avatar: { href: 'https://bitbucket.org/ada.png' },
        },
      },
      'https://api.bitbucket.org/2.0/user/emails': {
        body: {
          values: [
            { email: '', is_primary: false, is_confirmed: false },
            { email: 'ada@bitbucket.example', is_primary: true, is_confirmed: true },
            { email: 'old@bitbucket.example', is_primary: false, is_confirmed: false },
          ],
        },
      },
    },
    data: {
      iss: 'https://api.bitbucket.org/2.0',
      sub: '{c788b2da-b7a2-404c-9e26-d3f077557007}',
      name: 'Ada',
      full_name: 'Ada',
      email: 'ada@bitbucket.example',
      email_verified: true,
      picture: 'https://bitbucket.org/ada.png',
      avatar_url: 'https://bitbucket.org/ada.png',
    },
    email: 'ada@bitbucket.example',
  },
  {
    name: 'discord',
    authorize: { url: 'https://discord.com/api/oauth2/authorize', parameters: { scope: 'email identify' } },
    token: { url: 'https://discord.com/api/oauth2/token', auth: 'basic', answer: { ...bearer, scope: 'email' } },
    resources: {
      'https://discord.com/api/users/@me': {
        body: {
          id: '80351110224678912',
          username: 'ada',
          discriminator: '0',
          global_name: 'Ada L.',
          avatar: 'a_8342729096ea3675442027381ff50dfe',
          email: 'ada@discord.example',
          verified: true,
        },
      },
    },
    data: {
      iss: 'https://discord.com/api',
      sub: '80351110224678912',
      name: 'ada#0',
      full_name: 'ada',
      email: 'ada@discord.example',
      email_verified: true,
      picture: 'https://cdn.discordapp.com/avatars/80351110224678912/a_8342729096ea3675442027381ff50dfe.gif',
      avatar_url: 'https://cdn.discordapp.com/avatars/80351110224678912/a_8342729096ea3675442027381ff50dfe.gif',
      custom_claims: { global_name: 'Ada L.' },
    },
    email: 'ada@discord.example',
  },
  {
    name: 'facebook',
    authorize: { url: 'https://www.facebook.com/dialog/oauth', parameters: { scope: 'email' } },
    token: {
      url: 'https://graph.facebook.com/oauth/access_token',
      auth: 'post',
      answer: { token_type: 'bearer', expires_in: 5_183_944 },
    },
    resources: {
      [`https://graph.facebook.com/me?fields=email,first_name,last_name,name,picture&appsecret_proof=${PROOF}`]: {
        body: {
          id: '10224',
          email: 'ada@facebook.example',
          first_name: 'Ada',
          last_name: 'Lovelace',
          name: 'Ada L',
          picture: { data: { url: 'https://scontent.example/ada.jpg', is_silhouette: false } },
        },
      },
    },
    data: {
      iss: 'https://www.facebook.com',
      sub: '10224',
      name: 'Ada Lovelace',
      full_name: 'Ada Lovelace',
      email: 'ada@facebook.example',
      email_verified: true,
      picture: 'https://scontent.example/ada.jpg',
      avatar_url: 'https://scontent.example/ada.jpg',
      nickname: 'Ada L',
    },
    email: 'ada@facebook.example',
  },
  {
    name: 'figma',
    authorize: { url: 'https://www.figma.com/oauth', parameters: { scope: 'current_user:read' } },
    token: {
      url: 'https://api.figma.com/v1/oauth/token',
      auth: 'basic',
      // This answer has no token type, and a number instead of a text.
      answer: { user_id: 7, expires_in: 7_776_000, refresh_token: REFRESH_TOKEN },
    },
    resources: {
      'https://api.figma.com/v1/me': {
        body: { id: '1234', email: 'ada@figma.example', handle: 'Ada', img_url: 'https://s3.example/ada.png' },
      },
    },
    data: {
      iss: 'https://api.figma.com/v1',
      sub: '1234',
      name: 'Ada',
      full_name: 'Ada',
      email: 'ada@figma.example',
      email_verified: true,
      avatar_url: 'https://s3.example/ada.png',
    },
    email: 'ada@figma.example',
  },
  {
    name: 'github',
    authorize: { url: 'https://github.com/login/oauth/authorize', parameters: { scope: 'user:email' } },
    token: {
      url: 'https://github.com/login/oauth/access_token',
      auth: 'post',
      answer: { token_type: 'bearer', scope: 'user:email' },
    },
    resources: {
      'https://api.github.com/user': {
        body: {
          id: 583231,
          login: 'octocat',
          name: 'Ada',
          avatar_url: 'https://avatars.example/u/583231',
          email: 'shown@github.example',
        },
      },
      'https://api.github.com/user/emails': {
        body: [
          { email: 'octocat@users.noreply.github.com', verified: true, primary: false, visibility: null },
          { email: 'Ada@GitHub.example', verified: true, primary: true, visibility: 'private' },
        ],
      },
    },
    data: {
      iss: 'https://api.github.com',
      sub: '583231',
      name: 'Ada',
      full_name: 'Ada',
      email: 'ada@github.example',
      email_verified: true,
      avatar_url: 'https://avatars.example/u/583231',
      user_name: 'octocat',
      preferred_username: 'octocat',
    },
    email: 'ada@github.example',
  },
  {
    name: 'gitlab',
    authorize: { url: 'https://gitlab.com/oauth/authorize', parameters: { scope: 'read_user' } },
    token: { url: 'https://gitlab.com/oauth/token', auth: 'post', answer: { ...bearer, created_at: 1_607_635_748 } },
    resources: {
      'https://gitlab.com/api/v4/user': {
        body: {
          id: 42,
          email: 'ada@gitlab.example',
          name: 'Ada',
          avatar_url: 'https://gitlab.example/ada.png',
          confirmed_at: '2012-05-23T09:05:22Z',
        },
      },
      'https://gitlab.com/api/v4/user/emails': { body: [{ id: 1, email: 'other@gitlab.example' }] },
    },
    pkce: true,
    data: {
      iss: 'https://gitlab.com',
      sub: '42',
      name: 'Ada',
      full_name: 'Ada',
      email: 'ada@gitlab.example',
      email_verified: true,
      picture: 'https://gitlab.example/ada.png',
      avatar_url: 'https://gitlab.example/ada.png',
    },
    email: 'ada@gitlab.example',
  },
  {
    name: 'linkedin',
    authorize: {
      url: 'https://api.linkedin.com/oauth/v2/authorization',
      parameters: { scope: 'r_emailaddress r_liteprofile' },
    },
    token: { url: 'https://api.linkedin.com/oauth/v2/accessToken', auth: 'post', answer: { expires_in: 5_184_000 } },
    resources: {
      'https://api.linkedin.com/v2/me?projection=(id,firstName,lastName,profilePicture(displayImage~:playableStreams))':
        {
          body: {
            id: 'REDACTED',
            firstName: {
              localized: { de_DE: 'Ada', en_US: 'Eve' },
              preferredLocale: { country: 'DE', language: 'de' },
            },
            lastName: {
              localized: { en_US: 'Lovelace' },
              preferredLocale: { country: 'DE', language: 'de' },
            },
            profilePicture: {
              displayImage: 'urn:li:digitalmediaAsset:1',
              'displayImage~': { elements: [{ identifiers: [{ identifier: 'https://media.example/ada' }] }] },
            },
          },
        },
      'https://api.linkedin.com/v2/emailAddress?q=members&projection=(elements*(handle~))': {
        body: { elements: [{ 'handle~': { emailAddress: 'ada@linkedin.example' }, handle: 'urn:li:emailAddress:1' }] },
      },
    },
    data: {
      iss: 'https://api.linkedin.com',
      sub: 'REDACTED',
      name: 'Ada Lovelace',
      full_name: 'Ada Lovelace',
      email: 'ada@linkedin.example',
      email_verified: true,
      picture: 'https://media.example/ada',
      avatar_url: 'https://media.example/ada',
    },
    email: 'ada@linkedin.example',
  },
  {
    name: 'notion',
    authorize: { url: 'https://api.notion.com/v1/oauth/authorize', parameters: { owner: 'user' } },
    token: {
      url: 'https://api.notion.com/v1/oauth/token',
      auth: 'basic',
      answer: { token_type: 'bearer', bot_id: 'b', refresh_token: null },
    },
    resources: {
      'https://api.notion.com/v1/users/me': {
        headers: { 'notion-version': '2021-08-16' },
        body: {
          object: 'user',
          type: 'bot',
          bot: {
            owner: {
              type: 'user',
              user: {
                id: '6794760a-1f15-45cd-9c65-0dfe42f5135a',
                name: 'Ada',
                avatar_url: 'https://notion.example/ada.png',
                type: 'person',
                person: { email: 'ada@notion.example' },
              },
            },
          },
        },
      },
    },
    data: {
      iss: 'https://api.notion.com/v1',
      sub: '6794760a-1f15-45cd-9c65-0dfe42f5135a',
      name: 'Ada',
      full_name: 'Ada',
      email: 'ada@notion.example',
      email_verified: true,
      picture: 'https://notion.example/ada.png',
      avatar_url: 'https://notion.example/ada.png',
    },
    email: 'ada@notion.example',
  },
  {
    name: 'slack',
    authorize: { url: 'https://slack.com/oauth/authorize', parameters: { scope: 'profile email openid' } },
    token: { url: 'https://slack.com/api/oauth.access', auth: 'basic', answer: { ok: true, scope: 'profile' } },
    resources: {
      'https://slack.com/api/openid.connect.userInfo': {
        body: {
          ok: true,
          [SLACK_USER]: 'U0R7JM',
          [SLACK_TEAM]: 'T0R7GR',
          email: 'ada@slack.example',
          name: 'Ada',
          picture: 'https://secure.example/ada.jpg',
        },
      },
    },
    data: {
      iss: 'https://slack.com/api',
      sub: 'U0R7JM',
      name: 'Ada',
      full_name: 'Ada',
      email: 'ada@slack.example',
      email_verified: true,
      picture: 'https://secure.example/ada.jpg',
      avatar_url: 'https://secure.example/ada.jpg',
      custom_claims: { [SLACK_TEAM]: 'T0R7GR' },
    },
    email: 'ada@slack.example',
  },
  {
    name: 'snapchat',
    authorize: {
      url: 'https://accounts.snapchat.com/accounts/oauth2/auth',
      parameters: { scope: `${SNAPCHAT}.external_id ${SNAPCHAT}.display_name ${SNAPCHAT}.bitmoji.avatar` },
    },
    token: { url: 'https://accounts.snapchat.com/accounts/oauth2/token', auth: 'basic', answer: bearer },
    resources: {
      [`https://kit.snapchat.com/v1/me?query=${GRAPHQL}`]: {
        body: {
          data: {
            me: {
              externalId: 'CAESIPiRBp0e5gLDq7VVurQ3rVdmdbqxpOJWynjyBL',
              displayName: 'Ada',
              bitmoji: { avatar: 'https://sdk.example/ada.png', id: '1' },
              email: 'ada@snapchat.example',
            },
          },
          errors: [],
        },
      },
    },
    data: {
      iss: 'https://accounts.snapchat.com/accounts/oauth2/token',
      sub: 'CAESIPiRBp0e5gLDq7VVurQ3rVdmdbqxpOJWynjyBL',
      name: 'Ada',
      full_name: 'Ada',
      email: 'ada@snapchat.example',
      email_verified: true,
      picture: 'https://sdk.example/ada.png',
      avatar_url: 'https://sdk.example/ada.png',
    },
    email: 'ada@snapchat.example',
  },
  {
    name: 'twitch',
    authorize: { url: 'https://id.twitch.tv/oauth2/authorize', parameters: { scope: 'user:read:email' } },
    token: {
      url: 'https://id.twitch.tv/oauth2/token',
      auth: 'post',
      answer: { ...bearer, scope: ['user:read:email'] },
    },
    resources: {
      'https://api.twitch.tv/helix/users': {
        headers: { 'client-id': 'twitch-client' },
        body: {
          data: [
            {
              id: '141981764',
              login: 'ada',
              display_name: 'AdaDev',
              type: '',
              broadcaster_type: 'partner',
              description: 'Engines.',
              profile_image_url: 'https://static.example/ada.png',
              offline_image_url: 'https://static.example/off.png',
              view_count: 5_980_557,
              email: 'ada@twitch.example',
              created_at: '2016-12-14T20:32:28Z',
            },
          ],
        },
      },
    },
    data: {
      iss: 'https://api.twitch.tv',
      sub: '141981764',
      name: 'ada',
      full_name: 'ada',
      email: 'ada@twitch.example',
      email_verified: true,
      picture: 'https://static.example/ada.png',
      avatar_url: 'https://static.example/ada.png',
      nickname: 'AdaDev',
      custom_claims: {
        broadcaster_type: 'partner',
        description: 'Engines.',
        offline_image_url: 'https://static.example/off.png',
        view_count: 5_980_557,
      },
    },
    email: 'ada@twitch.example',
  },
  {
    name: 'workos',
    authorize: { url: 'https://api.workos.com/sso/authorize', parameters: {} },
    token: {
      url: 'https://api.workos.com/sso/token',
      auth: 'post',
      answer: {
        profile: {
          id: 'prof_01DMC79VCBZ0NY2099737PSVF1',
          connection_id: 'conn_01E4ZCR3C56J083X43JQXF3JK5',
          organization_id: 'org_01EHWNCE74X7JSDV0X3SZ3KJNY',
          connection_type: 'OktaSAML',
          email: 'ada@workos.example',
          first_name: 'Ada',
          last_name: 'Lovelace',
          raw_attributes: {},
        },
      },
    },
    resources: {},
    data: {
      iss: 'https://api.workos.com',
      sub: 'prof_01DMC79VCBZ0NY2099737PSVF1',
      name: 'Ada Lovelace',
      full_name: 'Ada Lovelace',
      email: 'ada@workos.example',
      email_verified: true,
      custom_claims: {
        connection_id: 'conn_01E4ZCR3C56J083X43JQXF3JK5',
        organization_id: 'org_01EHWNCE74X7JSDV0X3SZ3KJNY',
      },
    },
    email: 'ada@workos.example',
  },
]
