import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

const settings = new Set(
  [...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name ?? ''),
)
const folder = mkdtempSync(join(tmpdir(), 'guiche-deploy-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The output of a tool, and a name for its tests that says why they are skipped. */
function tool(command: string, versionArgs: string[]) {
  const isMissing = spawnSync(command, versionArgs).status !== 0
  return {
    isMissing,
    name: isMissing ? ` (skipped: ${command} is not installed)` : '',
    run: (...args: string[]) => {
      // Its caches must not be those of the person who runs the tests.
      const env = {
        ...process.env,
        HOME: folder,
        XDG_CACHE_HOME: folder,
        XDG_CONFIG_HOME: folder,
        XDG_DATA_HOME: folder,
      }
      const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env })
      return { status, output: stdout + stderr, stdout }
    },
  }
}

describe('the settings', () => {
  const named: [file: string, names: (string | undefined)[]][] = [
    ['deploy/Dockerfile', matches('deploy/Dockerfile', /(?<=^ENV .*)\b[A-Z_]+(?==)/gm)],
    ['deploy/guiche.service', matches('deploy/guiche.service', /(?<=^Environment=.*)\b[A-Z_]+(?==)/gm)],
    [
      'deploy/compose.yaml',
      Object.keys(parse(readFileSync('deploy/compose.yaml', 'utf8')).services.guiche.environment),
    ],
    ['the chart', matches('deploy/helm/guiche/templates/_helpers.tpl', /(?<=- name: )[A-Z_]+/g)],
    ['the values of the chart', matches('deploy/helm/guiche/values.yaml', /(?<=^ {2}# )[A-Z_]+(?=:)/gm)],
  ]
  it.each(named)('that %s names exist', (_, names) => {
    expect(names.length).toBeGreaterThan(2)
    expect(names.filter((name) => name !== 'NODE_ENV' && !settings.has(name ?? ''))).toEqual([])
  })
})

function matches(file: string, pattern: RegExp): string[] {
  return [...readFileSync(file, 'utf8').matchAll(pattern)].map(([name]) => name)
}

describe('compose.yaml', () => {
  const { services, ...defined } = parse(readFileSync('deploy/compose.yaml', 'utf8'))

  it('defines what its services name', () => {
    const used = (kind: string) => Object.values<Record<string, string[]>>(services).flatMap((one) => one[kind] ?? [])
    for (const kind of ['secrets', 'networks'])
      expect([...new Set(used(kind))].toSorted()).toEqual(Object.keys(defined[kind]).toSorted())
    const volumes = used('volumes').map((volume) => volume.split(':')[0] ?? '')
    const named = volumes.filter((volume) => !/^[.$]/.test(volume))
    expect(named.toSorted()).toEqual(Object.keys(defined.volumes).toSorted())
  })

  it('trusts the network that only the proxy shares, and shows only the proxy to others', () => {
    const { guiche, caddy, postgres } = services
    expect(guiche.environment.TRUST_PROXY).toBe(defined.networks.proxy.ipam.config[0].subnet)
    expect(defined.networks.database.internal).toBe(true)
    expect([guiche.ports, postgres.ports, postgres.networks]).toEqual([undefined, undefined, ['database']])
    expect([caddy.ports, caddy.networks]).toEqual([['80:80', '443:443'], ['proxy']])
    expect(guiche).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
  })
})

const caddy = tool('caddy', ['version'])
it.skipIf(caddy.isMissing)(`Caddy accepts the Caddyfile${caddy.name}`, () => {
  expect(caddy.run('validate', '--adapter', 'caddyfile', '--config', 'deploy/Caddyfile')).toMatchObject({ status: 0 })
})

const systemd = tool('systemd-analyze', ['--version'])
it.skipIf(systemd.isMissing)(`systemd accepts the unit, and rates its exposure as low${systemd.name}`, () => {
  const { output: complaints } = systemd.run('verify', '--man=no', 'deploy/guiche.service')
  // It also checks that the program exists.
  const own = complaints.split('\n').filter((line) => line.includes('guiche.service') && !line.includes('/node'))
  expect(own).toEqual([])
  const { output } = systemd.run('security', '--offline=true', 'deploy/guiche.service')
  expect(Number(/Overall exposure level.*: (\d+\.\d)/.exec(output)?.[1])).toBeLessThan(2)
})

const promtool = tool('promtool', ['--version'])
it.skipIf(promtool.isMissing)(`Prometheus alerts from the first event of a counter on${promtool.name}`, () => {
  const rules = resolve('deploy/monitoring/alerts.yaml')
  // The first event creates the series. The second comes an hour later. Then a new process counts from 0.
  const values = '_x9 1x60 2x60 0x60'
  const series = [
    'guiche_callbacks_refused_total{acquirer="efi",reason="signature"}',
    'guiche_http_request_errors_total{route="/withdrawal"}',
  ]
  const firing = (eval_time: string, count: number) => ({
    expr: 'count(ALERTS{alertname=~"GuicheCallbacksRefused|GuicheErrors",alertstate="firing"})',
    eval_time,
    exp_samples: count === 0 ? [] : [{ labels: '{}', value: count }],
  })
  const test = {
    rule_files: [rules],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: series.map((one) => ({ series: one, values })),
        promql_expr_test: [firing('8m', 0), firing('11m', 2), firing('40m', 0), firing('72m', 2), firing('150m', 0)],
      },
    ],
  }
  const file = join(folder, 'alerts.test.json')
  writeFileSync(file, JSON.stringify(test))
  expect(promtool.run('check', 'rules', rules)).toMatchObject({ status: 0 })
  expect(promtool.run('test', 'rules', file)).toMatchObject({ output: expect.stringContaining('SUCCESS'), status: 0 })
})

describe('the chart', () => {
  const chart = 'deploy/helm/guiche'
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

  it('has the version of the package', () => {
    expect(parse(readFileSync(`${chart}/Chart.yaml`, 'utf8'))).toMatchObject({ version, appVersion: version })
  })

  const helm = tool(process.env.HELM ?? 'helm', ['version'])
  describe.skipIf(helm.isMissing)(`with helm${helm.name}`, () => {
    const secret = ['--set', 'secrets.existingSecret=guiche-secrets']
    const everything = [
      ...['ingress', 'callbacksIngress', 'serviceMonitor'].flatMap((name) => ['--set', `${name}.enabled=true`]),
      ...['--set', 'acquirers.existingSecret=guiche-acquirers', '--set', 'ingress.tlsSecret=tls'],
      ...['--set-string', 'config.RATE_LIMIT_CREATE=1000000', '--set', 'config.BASE_URL=https://api.example.com'],
    ]
    const render = (...args: string[]) => {
      const { status, output, stdout } = helm.run('template', 'guiche', chart, ...args)
      expect([status, status === 0 ? '' : output]).toEqual([0, ''])
      return parseAllDocuments(stdout).map((document) => document.toJS())
    }
    const find = (rendered: { kind: string; metadata: { name: string } }[], kind: string, name = 'guiche') =>
      JSON.parse(JSON.stringify(rendered.find((one) => one.kind === kind && one.metadata.name === name) ?? null))

    it('passes lint', () => {
      expect(helm.run('lint', '--strict', chart, ...secret, ...everything)).toMatchObject({ status: 0 })
    })

    it('renders a deployment that reads its secrets from files, and a migration that runs before it', () => {
      const rendered = render(...secret, ...everything)
      const kinds = rendered.map(({ kind }) => kind).toSorted()
      expect(kinds).toEqual([
        'Deployment',
        'Ingress',
        'Ingress',
        'Job',
        'PodDisruptionBudget',
        'Service',
        'Service',
        'ServiceMonitor',
      ])
      const [deployment, job] = [find(rendered, 'Deployment'), find(rendered, 'Job', 'guiche-migrate')]
      const [container] = deployment.spec.template.spec.containers
      expect(container).toMatchObject({
        image: `guiche:${version}`,
        env: expect.arrayContaining([
          { name: 'RATE_LIMIT_CREATE', value: '1000000' },
          { name: 'SECRET_KEY_FILE', value: '/run/secrets/guiche/secret-key' },
        ]),
        securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
        livenessProbe: { httpGet: { path: '/health/live' } },
        readinessProbe: { httpGet: { path: '/health/ready' } },
      })
      expect(job.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' })
      const [migrate] = job.spec.template.spec.containers
      expect([migrate.args, migrate.env, migrate.volumeMounts]).toEqual([
        ['migrate'],
        container.env,
        container.volumeMounts,
      ])
      const selector = deployment.spec.selector.matchLabels
      expect(deployment.spec.template.metadata.labels).toMatchObject(selector)
      expect(find(rendered, 'Service').spec.selector).toEqual(selector)
      expect(find(rendered, 'PodDisruptionBudget').spec.selector.matchLabels).toEqual(selector)
    })

    it('runs one process in each pod unless the settings name another number', () => {
      const processesOf = (...args: string[]) => {
        const [container] = find(render(...secret, ...args), 'Deployment').spec.template.spec.containers
        return container.env.filter(({ name }: { name: string }) => name === 'PROCESSES')
      }
      expect(processesOf()).toEqual([{ name: 'PROCESSES', value: '1' }])
      const two = ['--set-string', 'config.PROCESSES=2']
      expect(processesOf(...two)).toEqual([{ name: 'PROCESSES', value: '2' }])
    })

    it('reads a former secret key from a file while one is replaced', () => {
      const previousOf = (...args: string[]) => {
        const [container] = find(render(...args), 'Deployment').spec.template.spec.containers
        return container.env.filter(({ name }: { name: string }) => name.startsWith('SECRET_KEY_PREVIOUS'))
      }
      const file = [{ name: 'SECRET_KEY_PREVIOUS_FILE', value: '/run/secrets/guiche/secret-key-previous' }]
      expect(previousOf(...secret)).toEqual([])
      expect(previousOf(...secret, '--set', 'secrets.hasSecretKeyPrevious=true')).toEqual(file)
    })

    it('routes callbacks, metrics and health of the public name to a service without pods', () => {
      const rendered = render(...secret, ...everything)
      const routes = (name: string) =>
        find(rendered, 'Ingress', name).spec.rules[0].http.paths.map(
          ({ path, backend }: { path: string; backend: { service: { name: string } } }) => [path, backend.service.name],
        )
      expect(routes('guiche')).toEqual([
        ['/', 'guiche'],
        ...['/callbacks', '/metrics', '/health'].map((path) => [path, 'guiche-closed']),
      ])
      expect(routes('guiche-callbacks')).toEqual([['/callbacks', 'guiche']])
      expect(find(rendered, 'Service', 'guiche-closed').spec.selector).toBeUndefined()
    })

    it('makes a secret before the migration, if none is named', () => {
      const values = [
        'databaseUrl=postgres://db/guiche',
        'databaseReadUrl=postgres://standby/guiche',
        `secretKey=${'A'.repeat(43)}`,
        'metricsToken=a-token-of-metrics',
      ]
      const { metadata, stringData } = find(render(...values.flatMap((one) => ['--set', `secrets.${one}`])), 'Secret')
      expect(metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade')
      expect(Number(metadata.annotations['helm.sh/hook-weight'])).toBeLessThan(0)
      expect(Object.keys(stringData)).toEqual(['database-url', 'database-read-url', 'secret-key', 'metrics-token'])
      const oidc = ['config.OIDC_ISSUER=https://sso.example.com', 'secrets.oidcClientSecret=of-the-provider']
      const more = render(...[...values.map((one) => `secrets.${one}`), ...oidc].flatMap((one) => ['--set', one]))
      expect(find(more, 'Secret').stringData['oidc-client-secret']).toBe('of-the-provider')
      expect(helm.run('template', 'guiche', chart).output).toContain('secrets.existingSecret, or secrets.databaseUrl')
    })

    it.each([
      ['an unknown value', 'replica=2'],
      ['a secret among the settings', 'config.SECRET_KEY=x'],
      ['a number among the settings', 'config.PROCESSES=2'],
      ['a database that is not PostgreSQL', 'secrets.databaseUrl=mysql://db/guiche'],
    ])('refuses %s', (_, value) => {
      const { status, output } = helm.run('template', 'guiche', chart, ...secret, '--set', value)
      expect([status, output]).toEqual([1, expect.stringContaining("don't meet the specifications of the schema")])
    })
  })
})
