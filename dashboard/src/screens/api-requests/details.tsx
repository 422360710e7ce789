import { Anchor, Badge, Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { Copyable } from '../../components/copy.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useLanguage, useText } from '../../text.ts'
import type { ApiRequests } from '../../types.ts'
import { toCurl } from './curl.ts'
import { words } from './text.ts'

type ApiRequest = ApiRequests['data'][number]

export function HttpStatus({ of: status }: { of: number }) {
  return (
    <Badge variant="light" radius="sm" color={status >= 500 ? 'red' : status >= 400 ? 'orange' : 'teal'}>
      {status}
    </Badge>
  )
}

export function Details({ of }: { of: ApiRequest }) {
  const t = useText(words)
  const { language } = useLanguage()
  const format = useFormat()
  return (
    <Stack>
      <Group gap="xs">
        <HttpStatus of={of.status} />
        <Text size="sm">
          {format.dateTime(of.at)} · {format.duration(of.durationMs)}
        </Text>
      </Group>
      <div>
        <Text size="xs" c="dimmed">
          {t.requestId}
        </Text>
        <Copyable value={of.requestId} label={t.requestId} />
      </div>
      <Group>
        <CopyButton value={toCurl(of, location.origin)}>
          {({ copied, copy }) => (
            <Button variant="default" size="xs" onClick={copy}>
              {copied ? t.curlCopied : t.curl}
            </Button>
          )}
        </CopyButton>
        <RecordLink of={of} isLong />
      </Group>
      <Text size="xs" c="dimmed">
        {t.curlHint}
      </Text>
      {of.dropped > 0 && <Text size="sm">{t.dropped(of.dropped)}</Text>}
      {of.problem && (
        <div>
          <Text size="sm" fw={600}>
            {t.error}: <Code>{of.problem.code}</Code>
          </Text>
          <Anchor
            href={`/guide/${language === 'pt' ? 'pt/' : ''}errors.html#${of.problem.code}`}
            target="_blank"
            size="sm"
          >
            {t.explain}
          </Anchor>
          {of.problem.errors.length > 0 && (
            <>
              <Text size="xs" c="dimmed" mt="xs">
                {t.fields}
              </Text>
              {of.problem.errors.map(({ field, code }) => (
                <Text key={`${field} ${code}`} size="sm" className="identifier">
                  {field}: {code}
                </Text>
              ))}
            </>
          )}
        </div>
      )}
      <Shown name={t.request} value={of.request} without={t.nothingSent} />
      <Shown name={t.response} value={of.response} without={t.noResponse} />
    </Stack>
  )
}

function Shown({ name, value, without }: { name: string; value: object | null; without: string }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      {value && Object.keys(value).length > 0 ? (
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {JSON.stringify(value, null, 2)}
        </Code>
      ) : (
        <Text size="sm">{without}</Text>
      )}
    </div>
  )
}

/** Leads to the transaction or withdrawal that a request created or named. A refund is on its transaction's page. */
export function RecordLink({ of: { route, recordId }, isLong = false }: { of: ApiRequest; isLong?: boolean }) {
  const t = useText(words)
  const toLink = useClientLink()
  const [, kind] = /^\/(transaction|withdrawal)(?:\/:id|$)/.exec(route) ?? []
  if (recordId === null || (kind !== 'transaction' && kind !== 'withdrawal')) return null
  return (
    <Anchor component={Link} href={toLink(`/${kind}s/${recordId}`)} size="sm">
      {isLong ? t.record : t.recordKinds[kind]}
    </Anchor>
  )
}
