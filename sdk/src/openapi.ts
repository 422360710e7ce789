// Written by `npm run sdk:types` from docs/openapi.json. Edit the schemas of the routes, not this file.

export interface paths {
    "/transaction": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listTransactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transaction.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["exportTransactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transaction/{id}/event": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listTransactionEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/withdrawal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWithdrawals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/withdrawal.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["exportWithdrawals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/withdrawal/{id}/event": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWithdrawalEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/balance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getBalance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/statement": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listStatement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/statement.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["exportStatement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/delivery": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/delivery/{eventId}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resendDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWebhookEndpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/event": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The person or company that paid or was paid */
        AccountHolder: {
            /** @enum {string} */
            type: "PF" | "PJ";
            name: string;
            /** @description CPF or CNPJ, bare */
            document: string;
            bankAccount: components["schemas"]["BankAccount"];
            pix: components["schemas"]["PixKey"];
        };
        /** @description The delivery address of a physical product */
        Address: {
            zipCode: string;
            complement?: string;
            number: string;
            street: string;
            neighborhood: string;
            city: string;
            state: string;
            country: string;
        };
        /** @description The delivery address of a physical product */
        AddressInput: {
            zipCode: string;
            complement?: string;
            number: string;
            street: string;
            neighborhood: string;
            city: string;
            state: string;
            country: string;
        };
        /**
         * @description The error as a code; null without an error, or if its text gives the HTTP status or other details
         * @enum {string|null}
         */
        AttemptErrorCode: "no_answer" | "redirected" | "gone" | "address_not_allowed" | "private_address" | "connection_refused" | "connection_closed" | "connection_timeout" | "connection_failed" | "unreachable" | "name_not_found" | "name_without_address" | "name_server_failed" | "name_server_timeout" | "head_too_long" | "certificate_expired" | "certificate_self_signed" | "certificate_untrusted" | "certificate_of_other_name" | "certificate_without_chain" | "not_http" | null;
        /** @description Metadata of the authorization server (RFC 8414) */
        AuthorizationServer: {
            /**
             * Format: uri
             * @description `iss` of the access tokens
             */
            issuer: string;
            /** Format: uri */
            token_endpoint: string;
            /**
             * Format: uri
             * @description The keys that access tokens are signed with
             */
            jwks_uri: string;
            scopes_supported: string[];
            /** @description None: no person signs in here */
            response_types_supported: string[];
            grant_types_supported: string[];
            token_endpoint_auth_methods_supported: string[];
            /** Format: uri */
            service_documentation: string;
        };
        /** @description The balance. Amounts are in cents */
        Balance: {
            /** @description Cents that may be withdrawn or refunded */
            available: number;
            /** @description Cents set aside for withdrawals and refunds in progress */
            reserved: number;
            /** @description Cents set aside while payments are disputed (MED) */
            blocked: number;
            /** @description Cents owed, because money that had to be taken back, such as that of a disputed payment, was already spent; later payments repay it first */
            debt: number;
            /**
             * Format: date-time
             * @description The moment of this balance
             */
            at: string;
        };
        /** @description An account at a bank */
        BankAccount: {
            type: string;
            branch: string;
            number: string;
            digit: string;
            /** @description ISPB code of the bank */
            ispb: string;
        };
        /** @description A charge. `address` is required if `isInfoProduct` is false */
        CreateTransactionBody: {
            /** @description Cents */
            amount: number;
            /** @enum {string} */
            paymentMethod: "PIX";
            /**
             * Format: uri
             * @description Receives every change; https, a public host, no fragment
             */
            webhookUrl?: string;
            /**
             * Format: uri
             * @description The payment page links to it, with `transactionId` added after the payment; https, a public host, no fragment
             */
            returnUrl?: string;
            /** @description Your reference; need not be unique */
            externalCode?: string;
            /** @description Requests with the same key and content return the same transaction */
            idempotencyKey?: string;
            customer?: components["schemas"]["CustomerInput"];
            seller?: components["schemas"]["SellerInput"];
            /**
             * @description Digital product; a physical one needs an address
             * @default true
             */
            isInfoProduct?: boolean;
            address?: components["schemas"]["AddressInput"];
            items?: components["schemas"]["ItemInput"][];
            /** @description What is bought, as the payer’s bank shows it after your name; by default the titles of the items */
            description?: string;
            /** @description Free-form; up to 8 KiB as JSON, 64 keys in all and 8 levels */
            metadata?: {
                [key: string]: unknown;
            };
            pix: {
                /**
                 * @description Lifetime of the QR code
                 * @default 1800
                 */
                expirationSeconds?: number;
            };
        };
        /** @description The body of a request to register a webhook endpoint */
        CreateWebhookEndpointBody: {
            /**
             * Format: uri
             * @description Receives the events; https, a public host, no fragment
             */
            url: string;
            /** @description Your own note, such as the system behind the address */
            description?: string;
            /** @description The types of events that are sent there; `["*"]` for all, including those of later versions */
            eventTypes?: ("transaction.pix_qrcode_generated" | "transaction.paid" | "transaction.processing_refund" | "transaction.processing_infraction" | "transaction.refunded" | "transaction.infraction" | "transaction.failed" | "transaction.blocked" | "withdrawal.processing" | "withdrawal.processed" | "withdrawal.failed" | "withdrawal.canceled" | "withdrawal.refunded" | "withdrawal.rejected" | "*")[];
        };
        /** @description A withdrawal to a PIX key */
        CreateWithdrawalBody: {
            /** @description Cents that the receiver gets; the fee comes on top */
            amount: number;
            /** @enum {string} */
            method: "PIX";
            pixKey: components["schemas"]["PixKeyInput"];
            /**
             * Format: uri
             * @description Receives every change; https, a public host, no fragment
             */
            webhookUrl?: string;
            /** @description Your reference; need not be unique */
            externalCode?: string;
            /** @description Requests with the same key and content return the same withdrawal. May be sent as the header Idempotency-Key */
            idempotencyKey: string;
            /** @description Free-form; up to 8 KiB as JSON, 64 keys in all and 8 levels */
            metadata?: {
                [key: string]: unknown;
            };
        };
        /** @description The customer */
        Customer: {
            ip?: string;
            name: string;
            email: string;
            document: components["schemas"]["TaxDocument"];
            landline?: string;
            mobilePhone?: string;
        };
        /** @description The customer */
        CustomerInput: {
            ip?: string;
            name: string;
            /** @description CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric */
            document: string;
            /** Format: email */
            email: string;
            landline?: string;
            mobilePhone?: string;
            /** Format: date */
            birthdate?: string;
        };
        /** @description The delivery of an event to your receiver, with its attempts */
        Delivery: {
            /**
             * Format: uuid
             * @description Identifier of the event: `webhook-id`
             */
            eventId: string;
            /**
             * Format: uuid
             * @description The registered endpoint; null for the record’s own `webhookUrl`
             */
            endpointId: string | null;
            type: string;
            /**
             * Format: uuid
             * @description Identifier of the transaction or withdrawal
             */
            recordId: string;
            sequence: number;
            url: string;
            state: components["schemas"]["DeliveryState"];
            /**
             * Format: date-time
             * @description When it is tried next
             */
            nextAttemptAt: string | null;
            /** @description HTTP status of the last response */
            lastStatus: number | null;
            /** @description Why the last attempt failed */
            lastError: string | null;
            lastErrorCode: components["schemas"]["AttemptErrorCode"];
            /**
             * Format: date-time
             * @description When the event happened
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it was delivered or given up
             */
            finishedAt: string | null;
            attempts: components["schemas"]["DeliveryAttempt"][];
        };
        /** @description One request to your receiver */
        DeliveryAttempt: {
            number: number;
            /**
             * Format: date-time
             * @description Start of the attempt
             */
            startedAt: string;
            durationInMilliseconds: number;
            /** @description HTTP status of the response; null when there was none */
            status: number | null;
            /** @description Why the attempt failed */
            error: string | null;
            errorCode: components["schemas"]["AttemptErrorCode"];
            /** @description The first 2 kB of the response’s body; null if there was no response or it had no text */
            response: string | null;
        };
        /** @description A page of a list */
        DeliveryPage: {
            /** @description Number of items on all pages */
            total: number;
            /** @description Number of pages */
            totalPages: number;
            /** @description Number of this page, from 1 */
            currentPage: number;
            /** @description Items per page */
            perPage: number;
            data: components["schemas"]["Delivery"][];
            /** @description Send it as `cursor` for the next page; null at the end */
            nextCursor: string | null;
        };
        /**
         * @description waiting: behind an earlier event of its record; pending: to be tried; delivered; exhausted: all attempts failed; gone: the receiver answered 410; canceled: its endpoint was disabled or deleted
         * @enum {string}
         */
        DeliveryState: "waiting" | "pending" | "delivered" | "exhausted" | "gone" | "canceled";
        /** @description A dispute (MED) of a transaction */
        Dispute: {
            /**
             * Format: uuid
             * @description Identifier
             */
            id: string;
            /** @description Disputed amount in cents */
            amount: number;
            /** @description Cents returned to the payer under it */
            amountReturned: number;
            /** @description Cents blocked for it now */
            amountBlocked: number;
            status: components["schemas"]["DisputeStatus"];
            /** @description Reason given by the acquirer or the operator */
            reason: string | null;
            /**
             * Format: date-time
             * @description When it was opened
             */
            openedAt: string;
            /**
             * Format: date-time
             * @description Deadline of the decision, if the acquirer gives one
             */
            deadline: string | null;
            /**
             * Format: date-time
             * @description When it ended
             */
            finishedAt: string | null;
        };
        /**
         * @description The status of a dispute (MED)
         * @enum {string}
         */
        DisputeStatus: "OPEN" | "ACCEPTED" | "RETURNED" | "REJECTED" | "CANCELED";
        /** @description A status change, as its webhook has it */
        Event: components["schemas"]["TransactionEvent"] | components["schemas"]["WithdrawalEvent"];
        /** @description A page of a list */
        EventPage: {
            /** @description Number of items on all pages */
            total: number;
            /** @description Number of pages */
            totalPages: number;
            /** @description Number of this page, from 1 */
            currentPage: number;
            /** @description Items per page */
            perPage: number;
            data: components["schemas"]["EventSummary"][];
            /** @description Send it as `cursor` for the next page; null at the end */
            nextCursor: string | null;
        };
        /** @description One status change, and the state of its delivery */
        EventSummary: {
            /**
             * Format: uuid
             * @description Identifier of the event: `webhook-id` of its delivery
             */
            id: string;
            /** @description Such as transaction.paid */
            type: string;
            /** @enum {string} */
            recordType: "transaction" | "withdrawal";
            /**
             * Format: uuid
             * @description Identifier of the transaction or withdrawal
             */
            recordId: string;
            /** @description Number of this status change of the record, from 1 */
            sequence: number;
            /**
             * Format: date-time
             * @description When it happened
             */
            createdAt: string;
            /** @description State of its delivery to the record’s `webhookUrl`; null when it has none */
            delivery: string | null;
        };
        /**
         * @description What can happen to a record
         * @enum {string}
         */
        EventType: "transaction.pix_qrcode_generated" | "transaction.paid" | "transaction.processing_refund" | "transaction.processing_infraction" | "transaction.refunded" | "transaction.infraction" | "transaction.failed" | "transaction.blocked" | "withdrawal.processing" | "withdrawal.processed" | "withdrawal.failed" | "withdrawal.canceled" | "withdrawal.refunded" | "withdrawal.rejected";
        /** @description Filters of transactions; all must match */
        ExportTransactionsBody: {
            /**
             * Format: date-time
             * @description Created at or after; ISO 8601 with time; UTC if it has no offset
             */
            startDate?: string;
            /**
             * Format: date-time
             * @description Created at or before; ISO 8601 with time; UTC if it has no offset
             */
            endDate?: string;
            /** @description Any of these; in the query, repeat the parameter */
            status?: components["schemas"]["TransactionStatus"][];
            /**
             * Format: email
             * @description Case does not matter
             */
            customerEmail?: string;
            /** @description Any part of it; case and accents do not matter */
            customerName?: string;
            /** @description CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric */
            customerDocument?: string;
            /** @description Either phone; only the digits are compared */
            customerPhone?: string;
            /**
             * Format: uuid
             * @description Its identifier
             */
            id?: string;
            /** @description endToEndId of the Pix */
            endToEnd?: string;
            /** @description endToEndId of a refund or another return, MED included */
            endToEndRefund?: string;
            /** @description Your reference */
            externalCode?: string;
            /** @description Any of these */
            paymentMethod?: "PIX"[];
            /** @description Cents */
            minAmount?: number;
            /** @description Cents */
            maxAmount?: number;
        };
        /** @description Filters of withdrawals; all must match */
        ExportWithdrawalsBody: {
            /**
             * Format: date-time
             * @description Created at or after; ISO 8601 with time; UTC if it has no offset
             */
            startDate?: string;
            /**
             * Format: date-time
             * @description Created at or before; ISO 8601 with time; UTC if it has no offset
             */
            endDate?: string;
            /** @description Any of these; in the query, repeat the parameter */
            status?: components["schemas"]["WithdrawalStatus"][];
            /**
             * Format: uuid
             * @description Its identifier
             */
            id?: string;
            /** @description CPF, CNPJ, e-mail, phone or EVP */
            pixKey?: string;
            /** @description endToEndId of the Pix */
            endToEnd?: string;
            /** @description endToEndId of the return */
            endToEndRefund?: string;
            /** @description Your reference */
            externalCode?: string;
            /** @description Cents */
            minAmount?: number;
            /** @description Cents */
            maxAmount?: number;
        };
        /** @description An event of the feed */
        FeedEvent: components["schemas"]["TransactionFeedEvent"] | components["schemas"]["WithdrawalFeedEvent"];
        /** @description Events after a position */
        FeedPage: {
            data: components["schemas"]["FeedEvent"][];
            /** @description Send it as `after` for the next page. With filters it is also behind events that do not match */
            next: string;
            /** @description True: request the next page now. False: the feed ends here for now */
            hasMore: boolean;
        };
        /** @description One error of a request */
        FieldError: {
            /** @description A path such as `items[0].unitPrice` */
            field: string;
            code: string;
            message: string;
            /** @description The smallest or largest value that is allowed */
            limit?: number;
            /**
             * @description The unit of `limit`; absent for a plain number, or a count of characters or items
             * @enum {string}
             */
            unit?: "cents" | "bytes";
            /** @description The record that the error is about, if the address does not name it */
            recordId?: string;
        };
        /** @description A state of the service */
        HealthState: {
            /** @description live, ready, not ready or stopping */
            status: string;
        };
        /** @description An item of the purchase */
        Item: {
            title: string;
            description?: string;
            /** @description Cents */
            unitPrice: number;
            quantity: number;
        };
        /** @description An item of the purchase */
        ItemInput: {
            title: string;
            description?: string;
            /** @description Cents */
            unitPrice: number;
            /** @default 1 */
            quantity?: number;
        };
        /** @description A JSON Web Key Set (RFC 7517) */
        Jwks: {
            keys: {
                [key: string]: unknown;
            }[];
        };
        /** @description An error of the token endpoint (RFC 6749, section 5.2) */
        OAuthError: {
            /** @description RFC 6749 §5.2: invalid_request, invalid_client, unsupported_grant_type, invalid_scope, … */
            error: string;
            error_description: string;
        };
        /** @description The page where a customer pays a transaction */
        PaymentLink: {
            /** @description Send the customer here; whoever has the address can see the page */
            url: string;
            /**
             * Format: date-time
             * @description When its code expires; the page continues to show the state of the payment. Null while there is no code
             */
            expiresAt: string | null;
        };
        /** @description The code that a payer pays: as text to copy, and as a QR image */
        PixCode: {
            /** @description Copy-and-paste code (BR Code) */
            uri: string;
            /** @description The same as a PNG image, as a data URL */
            qrCodeBase64: string;
            /**
             * Format: date-time
             * @description When the code expires
             */
            expirationDate: string;
        };
        /** @description The code of a transaction. All three fields are null if the acquirer has given no code */
        PixCodeIfAny: {
            /** @description Copy-and-paste code (BR Code) */
            uri: string | null;
            /** @description The same as a PNG image, as a data URL */
            qrCodeBase64: string | null;
            /**
             * Format: date-time
             * @description When the code expires
             */
            expirationDate: string | null;
        };
        /** @description A PIX key: the address of an account */
        PixKey: {
            key: string;
            type: components["schemas"]["PixKeyType"];
        };
        /** @description A PIX key, which must be valid for its type */
        PixKeyInput: {
            /** @description Formatted or bare; stored in normal form */
            key: string;
            type: components["schemas"]["PixKeyType"];
        };
        /**
         * @description The types of PIX keys
         * @enum {string}
         */
        PixKeyType: "CPF" | "CNPJ" | "EMAIL" | "PHONE" | "EVP";
        /** @description The body of an error (RFC 9457) */
        Problem: {
            /**
             * Format: uri
             * @description Address of the explanation of this code
             */
            type: string;
            /** @description What the code means */
            title: string;
            /** @description HTTP status */
            status: number;
            /** @description What happened and what to do next */
            detail: string;
            /** @description Stable, in snake case. Programs compare this field */
            code: string;
            /** @description The same as the header X-Request-Id */
            requestId: string;
            /** @description Every error of the request */
            errors?: components["schemas"]["FieldError"][];
        } & {
            [key: string]: unknown;
        };
        /** @description A refund of a transaction */
        Refund: {
            /**
             * Format: uuid
             * @description Identifier
             */
            id: string;
            /** @description Cents */
            amount: number;
            status: components["schemas"]["RefundStatus"];
            /** @description endToEndId of the return */
            endToEndRefund: string | null;
            /** @description Reason given in the request */
            reason: string | null;
            /**
             * Format: date-time
             * @description When it was requested
             */
            createdAt: string;
        };
        /** @description A refund of what is left of a payment, or of a part of it */
        RefundBody: {
            /** @description Cents; up to what is left of the payment, which is also the default */
            amount?: number;
            reason?: string;
            /** @description Requests with the same key and content return the same refund. May be sent as the header Idempotency-Key */
            idempotencyKey: string;
        };
        /** @description The answer to a refund request */
        RefundCreated: {
            /**
             * Format: uuid
             * @description Identifier of the refund
             */
            id: string;
            /**
             * Format: uuid
             * @description The transaction that is refunded
             */
            transactionId: string;
            /** @description Cents */
            amount: number;
            /** @enum {string} */
            type: "REFUND";
            /** @enum {string} */
            status: "PROCESSING";
        };
        /**
         * @description The status of a refund
         * @enum {string}
         */
        RefundStatus: "PROCESSING" | "REFUNDED" | "FAILED";
        /** @description A delivery whose schedule starts again */
        Resent: {
            /**
             * Format: uuid
             * @description Identifier of the event
             */
            eventId: string;
            /** @enum {string} */
            state: "pending" | "waiting";
        };
        /** @description Money that went back to the payer other than by a refund */
        Return: {
            /** @description endToEndId of the return */
            endToEndRefund: string | null;
            /** @description Cents; negative if it corrects an earlier entry */
            amount: number;
            /** @description The dispute under which it was returned; null if the bank returned it without one */
            disputeId: string | null;
            /**
             * Format: date-time
             * @description When it was returned
             */
            date: string;
        };
        /** @description How a secret is rotated */
        RotateWebhookEndpointSecretBody: {
            /** @description How long the former secret also signs; 24 without it */
            overlapHours?: number;
            /**
             * Format: uuid
             * @description Your own UUID for the new secret. If you received no answer, repeat the request with the same one: you get another secret, the one that you did not receive ends, and the former one stays valid
             */
            secretId?: string;
        };
        /** @description What has come due because time has passed */
        SandboxAdvanced: {
            /** @description How much time has passed with this call */
            advancedSeconds: number;
            /** @description How much time has passed with all calls of this merchant */
            offsetSeconds: number;
            due: components["schemas"]["SandboxDue"];
        };
        /** @description How much time passes */
        SandboxClock: {
            /** @description How much time passes; 90 days at most */
            advanceSeconds: number;
        };
        /** @description The dispute */
        SandboxDisputed: {
            /** @description Names the dispute in a decision */
            reference: string;
        };
        /** @description What has come due. Its effects follow within seconds */
        SandboxDue: {
            /** @description Codes that have expired */
            charges: number;
            /** @description Delayed payments that the simulated bank has now shown */
            payments: number;
            /** @description Refunds and returns that the simulated bank has now settled */
            refunds: number;
            /** @description Withdrawals that the simulated bank has now settled */
            withdrawals: number;
            /** @description Disputes that were opened, paid back, or have reached their deadline */
            disputes: number;
            /** @description Open withdrawals and refunds whose next check is due */
            checks: number;
            /** @description Deliveries whose next attempt is due */
            webhooks: number;
        };
        /** @description A dispute (MED) at the simulated bank */
        SandboxInfraction: {
            /** @description The endToEnd of a paid transaction */
            endToEnd: string;
            /** @description Cents; the whole payment by default */
            amount?: number;
            /**
             * @description fraud by default
             * @enum {string}
             */
            reason?: "fraud" | "operational_failure";
        };
        /** @description The payment or return that was made */
        SandboxPaid: {
            /** @description Identifier of the Pix */
            endToEndId: string;
        };
        /** @description The payer at the simulated bank. Omitted fields get defaults */
        SandboxPayer: {
            /** @enum {string} */
            type?: "PF" | "PJ";
            name?: string;
            /** @description CPF or CNPJ, bare */
            document?: string;
            pix?: components["schemas"]["PixKey"];
            bankAccount?: {
                type?: string;
                branch?: string;
                number?: string;
                digit?: string;
                /** @description ISPB code of the bank */
                ispb?: string;
            };
        };
        /** @description A payment at the simulated bank */
        SandboxPayment: {
            /** @description The copy-and-paste code */
            uri: string;
            /** @description Cents, to pay another amount than the code has */
            amount?: number;
            payer?: components["schemas"]["SandboxPayer"];
            /**
             * @description The fault to inject; honest: none, whatever the fault profile of the bank
             * @enum {string}
             */
            behaviour?: "honest" | "without_txid" | "slow" | "late" | "twice" | "other_amount" | "other_payer" | "returned" | "contested" | "callback_never" | "callback_twice" | "callback_late" | "callback_forged";
        };
        /** @description The fault profile of the simulated bank */
        SandboxPersonality: {
            name: components["schemas"]["SandboxPersonalityName"];
            /** @description The same seed has the same effect on the same payments */
            seed: number;
            traits: components["schemas"]["SandboxTraits"];
        };
        /** @description A new fault profile for the simulated bank */
        SandboxPersonalityInput: {
            name: components["schemas"]["SandboxPersonalityName"];
            /** @description The same seed has the same effect on the same payments */
            seed?: number;
            traits?: components["schemas"]["SandboxTraits"];
        };
        /**
         * @description The named fault profiles of the simulated bank
         * @enum {string}
         */
        SandboxPersonalityName: "honest" | "forgetful" | "late" | "careless" | "forged" | "quarrelsome" | "hostile";
        /** @description An unannounced return under MED */
        SandboxReturn: {
            /** @description The endToEnd of a paid transaction */
            endToEnd: string;
            /** @description Cents; the whole remaining amount by default */
            amount?: number;
        };
        /** @description The faults of the simulated bank, with the probability of each, from 0 to 1 */
        SandboxTraits: {
            without_txid?: number;
            slow?: number;
            late?: number;
            twice?: number;
            other_amount?: number;
            other_payer?: number;
            returned?: number;
            contested?: number;
            callback_never?: number;
            callback_twice?: number;
            callback_late?: number;
            callback_forged?: number;
            answer_lost?: number;
            payout_rejected?: number;
            return_rejected?: number;
        };
        /** @description A withdrawal that is sent back */
        SandboxWithdrawalReturn: {
            /** @description Cents; the whole remaining amount by default */
            amount?: number;
        };
        /** @description Filters of transactions; all must match */
        SearchTransactionsBody: {
            /**
             * Format: date-time
             * @description Created at or after; ISO 8601 with time; UTC if it has no offset
             */
            startDate?: string;
            /**
             * Format: date-time
             * @description Created at or before; ISO 8601 with time; UTC if it has no offset
             */
            endDate?: string;
            /** @description Any of these; in the query, repeat the parameter */
            status?: components["schemas"]["TransactionStatus"][];
            /**
             * Format: email
             * @description Case does not matter
             */
            customerEmail?: string;
            /** @description Any part of it; case and accents do not matter */
            customerName?: string;
            /** @description CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric */
            customerDocument?: string;
            /** @description Either phone; only the digits are compared */
            customerPhone?: string;
            /**
             * Format: uuid
             * @description Its identifier
             */
            id?: string;
            /** @description endToEndId of the Pix */
            endToEnd?: string;
            /** @description endToEndId of a refund or another return, MED included */
            endToEndRefund?: string;
            /** @description Your reference */
            externalCode?: string;
            /** @description Any of these */
            paymentMethod?: "PIX"[];
            /** @description Cents */
            minAmount?: number;
            /** @description Cents */
            maxAmount?: number;
            /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
            page?: number;
            /**
             * @description Items per page
             * @default 20
             */
            perPage?: number;
            /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
            cursor?: string;
        };
        /** @description Filters of withdrawals; all must match */
        SearchWithdrawalsBody: {
            /**
             * Format: date-time
             * @description Created at or after; ISO 8601 with time; UTC if it has no offset
             */
            startDate?: string;
            /**
             * Format: date-time
             * @description Created at or before; ISO 8601 with time; UTC if it has no offset
             */
            endDate?: string;
            /** @description Any of these; in the query, repeat the parameter */
            status?: components["schemas"]["WithdrawalStatus"][];
            /**
             * Format: uuid
             * @description Its identifier
             */
            id?: string;
            /** @description CPF, CNPJ, e-mail, phone or EVP */
            pixKey?: string;
            /** @description endToEndId of the Pix */
            endToEnd?: string;
            /** @description endToEndId of the return */
            endToEndRefund?: string;
            /** @description Your reference */
            externalCode?: string;
            /** @description Cents */
            minAmount?: number;
            /** @description Cents */
            maxAmount?: number;
            /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
            page?: number;
            /**
             * @description Items per page
             * @default 20
             */
            perPage?: number;
            /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
            cursor?: string;
        };
        /** @description The seller */
        Seller: {
            name: string;
            document: components["schemas"]["TaxDocument"];
        };
        /** @description The seller */
        SellerInput: {
            name: string;
            /** @description CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric */
            document: string;
        };
        /** @description One change of the available balance. Amounts are in cents */
        StatementEntry: {
            /** @description Number of the transfer */
            id: number;
            kind: components["schemas"]["StatementKind"];
            /** @description Cents; negative if it left the available balance */
            amount: number;
            /** @description The available balance after it, in cents */
            balance: number;
            /** @enum {string} */
            recordType: "transaction" | "refund" | "infraction" | "withdrawal" | "suspense" | "correction" | "fee_draw" | "pay_in" | "write_off" | "psp_fee" | "manual_entry" | "move_out" | "move_in";
            /**
             * Format: uuid
             * @description Identifier of the record that it was posted for
             */
            recordId: string;
            /**
             * Format: uuid
             * @description The transaction of that record: GET /transaction/{id} shows the refund, the dispute or the correction
             */
            transactionId: string | null;
            /** @description Description of an entry whose recordId cannot be looked up: an entry of the operator, such as pay_in or manual_entry, or a correction. Null for all others */
            description: string | null;
            /**
             * @description Of a correction: what the list of the PSP and the ledger differed about. Null for all others
             * @enum {string|null}
             */
            correctedSubject: "payment" | "return" | "payout" | null;
            /** @description Of a correction: the reference of that payment, return or payout */
            correctedReference: string | null;
            /**
             * Format: date-time
             * @description When it was posted
             */
            createdAt: string;
        };
        /**
         * @description The reason of a change of the available balance
         * @enum {string}
         */
        StatementKind: "payment" | "fee" | "debt_repaid" | "refund_reserved" | "refund_sent" | "refund_released" | "fee_returned" | "fee_return_reversed" | "infraction_blocked" | "infraction_returned" | "infraction_released" | "withdrawal_reserved" | "withdrawal_sent" | "withdrawal_released" | "withdrawal_returned" | "payment_held" | "held_returned" | "held_matched" | "match_undone" | "correction" | "fees_drawn" | "pay_in" | "debt_written_off" | "psp_fee" | "manual" | "moved_out" | "moved_in";
        /** @description A page of a list */
        StatementPage: {
            /** @description Number of items on all pages */
            total: number;
            /** @description Number of pages */
            totalPages: number;
            /** @description Number of this page, from 1 */
            currentPage: number;
            /** @description Items per page */
            perPage: number;
            data: components["schemas"]["StatementEntry"][];
            /** @description Send it as `cursor` for the next page; null at the end */
            nextCursor: string | null;
        };
        /** @description A CPF or CNPJ */
        TaxDocument: {
            /** @description Without punctuation */
            value: string;
            /** @enum {string} */
            type: "CPF" | "CNPJ";
        };
        /** @description An access token */
        Token: {
            /** @description JWT; send it as `Authorization: Bearer …` */
            access_token: string;
            /** @description Unix time of expiry, in seconds */
            expires_in: number;
            /** @description Expiry of the refresh token: 0, there is none */
            refresh_expires_in: number;
            /** @enum {string} */
            token_type: "Bearer";
            /** @description Unix time before which tokens of this client are refused; 0 when none was revoked */
            "not-before-policy": number;
            /** @description Granted scopes, separated by commas */
            scope: string;
            /** @description Lifetime in seconds */
            expires_in_sec: number;
        };
        /** @description Client credentials */
        TokenForm: {
            /** @description Client identifier */
            client_id: string;
            /** @description Secret */
            client_secret: string;
            /** @description client_credentials, which is also the default */
            grant_type?: string;
            /** @description A subset of the scopes that the client has, separated by spaces or commas */
            scope?: string;
        };
        /** @description A charge by PIX. Amounts are in cents, dates in ISO 8601 */
        Transaction: {
            /**
             * Format: uuid
             * @description Identifier
             */
            id: string;
            acquirer: string;
            /** @description Cents */
            amount: number;
            /** @enum {string} */
            paymentMethod: "PIX";
            webhookUrl?: string;
            /** @description As in the request */
            returnUrl?: string;
            externalCode?: string;
            customer?: components["schemas"]["Customer"];
            seller?: components["schemas"]["Seller"];
            isInfoProduct: boolean;
            address?: components["schemas"]["Address"];
            items?: components["schemas"]["Item"][];
            /** @description As in the request */
            description?: string;
            metadata?: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
            status: components["schemas"]["TransactionStatus"];
            statusHistory: components["schemas"]["TransactionStatusEntry"][];
            /**
             * Format: date-time
             * @description Last change
             */
            updatedAt: string;
            /** @description Cents received */
            amountPaid?: number;
            /** @description Cents refunded; present once paid */
            amountRefunded?: number;
            /** @description In the order of their requests; present once paid */
            refunds?: components["schemas"]["Refund"][];
            /** @description Cents returned other than by refunds: under MED, or by the bank; present once paid */
            amountReturned?: number;
            /** @description Disputes (MED), the oldest first; present once paid */
            disputes?: components["schemas"]["Dispute"][];
            /** @description Returns other than refunds; present once paid */
            returns?: components["schemas"]["Return"][];
            /**
             * Format: date-time
             * @description When the payer paid
             */
            paymentDate?: string;
            /**
             * Format: date-time
             * @description When a dispute (MED) was opened
             */
            infractionDate: string | null;
            pixResponse: components["schemas"]["PixCodeIfAny"];
            /** @description Why it failed, or why a refund was refused */
            errorMessage: string | null;
            /**
             * @description Why the status is FAILED, as a code to compare; `refused`: the acquirer refused the charge, and `errorMessage` has its reason
             * @enum {string}
             */
            failureCode?: "expired" | "removed" | "canceled" | "refused";
            /** @description endToEndId of the Pix */
            endToEnd?: string;
            payer?: components["schemas"]["AccountHolder"];
            receiver?: components["schemas"]["AccountHolder"];
            /** @description Cents */
            feeAmount?: number;
        };
        /** @description The answer to a create */
        TransactionCreated: {
            /**
             * Format: uuid
             * @description Identifier of the transaction
             */
            id: string;
            externalCode?: string;
            /** @description Cents */
            amount: number;
            /** @enum {string} */
            type: "TRANSACTION";
            /** @enum {string} */
            status: "PIX_QRCODE_GENERATED";
            pixResponse: components["schemas"]["PixCode"];
            /** @description The payment page of this transaction: send the customer there. Its address does not change */
            paymentUrl: string;
        };
        /** @description A change of a transaction, as a webhook */
        TransactionEvent: {
            /**
             * Format: uuid
             * @description Equal to the header `webhook-id`. The same event can arrive twice, with the same id
             */
            id: string;
            /**
             * @description What happened
             * @enum {string}
             */
            type: "transaction.pix_qrcode_generated" | "transaction.paid" | "transaction.processing_refund" | "transaction.processing_infraction" | "transaction.refunded" | "transaction.infraction" | "transaction.failed" | "transaction.blocked";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description The transaction as a fetch returned it at that time */
            data: components["schemas"]["Transaction"] & {
                /** @description Counts the status changes of the record from 1. An event is stale if its number is not above the last one that you saw of this record */
                sequence: number;
            };
        };
        /** @description A change of a transaction, in the feed */
        TransactionFeedEvent: {
            /** @description Number of the event in the feed: 1, 2, 3 … without a gap, unless the feed is filtered */
            number: number;
            /** @description Send it as `after` for the events that follow this one */
            position: string;
            /**
             * Format: uuid
             * @description Equal to the header `webhook-id`. The same event can arrive twice, with the same id
             */
            id: string;
            /**
             * @description What happened
             * @enum {string}
             */
            type: "transaction.pix_qrcode_generated" | "transaction.paid" | "transaction.processing_refund" | "transaction.processing_infraction" | "transaction.refunded" | "transaction.infraction" | "transaction.failed" | "transaction.blocked";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description The transaction as a fetch returned it at that time */
            data: components["schemas"]["Transaction"] & {
                /** @description Counts the status changes of the record from 1. An event is stale if its number is not above the last one that you saw of this record */
                sequence: number;
            };
        };
        /** @description A page of a list */
        TransactionPage: {
            /** @description Number of items on all pages */
            total: number;
            /** @description Number of pages */
            totalPages: number;
            /** @description Number of this page, from 1 */
            currentPage: number;
            /** @description Items per page */
            perPage: number;
            data: components["schemas"]["Transaction"][];
            /** @description Send it as `cursor` for the next page; null at the end */
            nextCursor: string | null;
        };
        /**
         * @description The status of a transaction
         * @enum {string}
         */
        TransactionStatus: "PENDING" | "PIX_QRCODE_GENERATED" | "PAID" | "PROCESSING_REFUND" | "PROCESSING_INFRACTION" | "REFUNDED" | "INFRACTION" | "FAILED" | "BLOCKED";
        /** @description A status that the record had or has */
        TransactionStatusEntry: {
            status: components["schemas"]["TransactionStatus"];
            /**
             * Format: date-time
             * @description When the status was reached
             */
            date: string;
            /** @description Time spent in the status; null for the current one */
            durationInMilliseconds: number | null;
        };
        /** @description A change of a webhook endpoint */
        UpdateWebhookEndpointBody: {
            /**
             * Format: uri
             * @description Receives the events; https, a public host, no fragment
             */
            url?: string;
            /** @description Your own note, such as the system behind the address */
            description?: string;
            /** @description The types of events that are sent there; `["*"]` for all, including those of later versions */
            eventTypes?: ("transaction.pix_qrcode_generated" | "transaction.paid" | "transaction.processing_refund" | "transaction.processing_infraction" | "transaction.refunded" | "transaction.infraction" | "transaction.failed" | "transaction.blocked" | "withdrawal.processing" | "withdrawal.processed" | "withdrawal.failed" | "withdrawal.canceled" | "withdrawal.refunded" | "withdrawal.rejected" | "*")[];
            /** @description false: it receives no more events, and what waits for it is canceled */
            enabled?: boolean;
        };
        /** @description An address that receives the events of all records */
        WebhookEndpoint: {
            /**
             * Format: uuid
             * @description Identifier of the endpoint
             */
            id: string;
            /** @description Where the events are sent */
            url: string;
            /** @description Your own note, such as the system behind the address */
            description: string;
            /** @description The types of events that are sent there; `["*"]` for all, including those of later versions */
            eventTypes: string[];
            /** @description Whether it receives events */
            enabled: boolean;
            disabledReason: components["schemas"]["WebhookEndpointDisabledReason"];
            /**
             * Format: date-time
             * @description Since when it is disabled
             */
            disabledAt: string | null;
            /**
             * Format: date-time
             * @description Since when every attempt has failed; null after one that succeeded
             */
            failingSince: string | null;
            /**
             * Format: date-time
             * @description When it was registered
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it was last changed
             */
            updatedAt: string;
        };
        /** @description A new webhook endpoint with its secret */
        WebhookEndpointCreated: {
            /**
             * Format: uuid
             * @description Identifier of the endpoint
             */
            id: string;
            /** @description Where the events are sent */
            url: string;
            /** @description Your own note, such as the system behind the address */
            description: string;
            /** @description The types of events that are sent there; `["*"]` for all, including those of later versions */
            eventTypes: string[];
            /** @description Whether it receives events */
            enabled: boolean;
            disabledReason: components["schemas"]["WebhookEndpointDisabledReason"];
            /**
             * Format: date-time
             * @description Since when it is disabled
             */
            disabledAt: string | null;
            /**
             * Format: date-time
             * @description Since when every attempt has failed; null after one that succeeded
             */
            failingSince: string | null;
            /**
             * Format: date-time
             * @description When it was registered
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it was last changed
             */
            updatedAt: string;
            /** @description Verifies its deliveries. Shown only in this response */
            secret: string;
        };
        /**
         * @description request: by a request; failing: every attempt failed for five days; gone: it answered 410; null while enabled
         * @enum {string|null}
         */
        WebhookEndpointDisabledReason: "request" | "failing" | "gone" | null;
        /** @description A page of a list */
        WebhookEndpointPage: {
            /** @description Number of items on all pages */
            total: number;
            /** @description Number of pages */
            totalPages: number;
            /** @description Number of this page, from 1 */
            currentPage: number;
            /** @description Items per page */
            perPage: number;
            data: components["schemas"]["WebhookEndpoint"][];
            /** @description Send it as `cursor` for the next page; null at the end */
            nextCursor: string | null;
        };
        /** @description A new secret of a webhook endpoint */
        WebhookEndpointSecret: {
            /** @description Verifies the deliveries from now on. Shown only in this response */
            secret: string;
            /**
             * Format: date-time
             * @description Until when deliveries also carry the signature by the former secret
             */
            formerExpiresAt: string;
        };
        /** @description The answer of a receiver to a test */
        WebhookTest: {
            /**
             * Format: uuid
             * @description `webhook-id` of the test
             */
            eventId: string;
            /** @description Whether the receiver answered 2xx within 15 seconds */
            delivered: boolean;
            /** @description HTTP status of the response; null when there was none */
            status: number | null;
            /** @description Why it failed */
            error: string | null;
            errorCode: components["schemas"]["AttemptErrorCode"];
            durationInMilliseconds: number;
            /** @description The first 2 kB of the response’s body; null if there was no response or it had no text */
            response: string | null;
        };
        /** @description Money sent to a PIX key. Amounts are in cents, dates in ISO 8601 */
        Withdrawal: {
            /**
             * Format: uuid
             * @description Identifier
             */
            id: string;
            acquirer: string;
            /** @description Cents */
            amount: number;
            /** @enum {string} */
            method: "PIX";
            webhookUrl?: string;
            externalCode?: string;
            metadata?: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
            status: components["schemas"]["WithdrawalStatus"];
            hold?: components["schemas"]["WithdrawalHold"];
            statusHistory: components["schemas"]["WithdrawalStatusEntry"][];
            /**
             * Format: date-time
             * @description Last change
             */
            updatedAt: string;
            /** @description Cents sent */
            amountWithdrawn?: number;
            /**
             * Format: date-time
             * @description When the bank executed it
             */
            processedDate?: string;
            /** @description Why it failed, was rejected or was returned */
            errorMessage: string | null;
            /** @description endToEndId of the Pix */
            endToEnd?: string;
            payer?: components["schemas"]["AccountHolder"];
            receiver?: components["schemas"]["AccountHolder"];
            pixKey?: components["schemas"]["PixKey"];
            /** @description Fee in cents, on top of the amount; returned if the withdrawal is not sent */
            feeAmount?: number;
        };
        /** @description The answer to a withdrawal request */
        WithdrawalCreated: {
            /**
             * Format: uuid
             * @description Identifier of the withdrawal
             */
            id: string;
            externalCode?: string;
            /** @description Cents */
            amount: number;
            /** @enum {string} */
            type: "WITHDRAWAL";
            /** @enum {string} */
            status: "PENDING";
            hold?: components["schemas"]["WithdrawalHold"];
        };
        /** @description A change of a withdrawal, as a webhook */
        WithdrawalEvent: {
            /**
             * Format: uuid
             * @description Equal to the header `webhook-id`. The same event can arrive twice, with the same id
             */
            id: string;
            /**
             * @description What happened
             * @enum {string}
             */
            type: "withdrawal.processing" | "withdrawal.processed" | "withdrawal.failed" | "withdrawal.canceled" | "withdrawal.refunded" | "withdrawal.rejected";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description The withdrawal as a fetch returned it at that time */
            data: components["schemas"]["Withdrawal"] & {
                /** @description Counts the status changes of the record from 1. An event is stale if its number is not above the last one that you saw of this record */
                sequence: number;
            };
        };
        /** @description A change of a withdrawal, in the feed */
        WithdrawalFeedEvent: {
            /** @description Number of the event in the feed: 1, 2, 3 … without a gap, unless the feed is filtered */
            number: number;
            /** @description Send it as `after` for the events that follow this one */
            position: string;
            /**
             * Format: uuid
             * @description Equal to the header `webhook-id`. The same event can arrive twice, with the same id
             */
            id: string;
            /**
             * @description What happened
             * @enum {string}
             */
            type: "withdrawal.processing" | "withdrawal.processed" | "withdrawal.failed" | "withdrawal.canceled" | "withdrawal.refunded" | "withdrawal.rejected";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description The withdrawal as a fetch returned it at that time */
            data: components["schemas"]["Withdrawal"] & {
                /** @description Counts the status changes of the record from 1. An event is stale if its number is not above the last one that you saw of this record */
                sequence: number;
            };
        };
        /**
         * @description Present while it is pending review and not sent: it waits for the operator (approval), or it looks like a recent one and waits for POST /withdrawal/{id}/confirm (duplicate)
         * @enum {string}
         */
        WithdrawalHold: "approval" | "duplicate";
        /** @description A page of a list */
        WithdrawalPage: {
            /** @description Number of items on all pages */
            total: number;
            /** @description Number of pages */
            totalPages: number;
            /** @description Number of this page, from 1 */
            currentPage: number;
            /** @description Items per page */
            perPage: number;
            data: components["schemas"]["Withdrawal"][];
            /** @description Send it as `cursor` for the next page; null at the end */
            nextCursor: string | null;
        };
        /**
         * @description The status of a withdrawal
         * @enum {string}
         */
        WithdrawalStatus: "PENDING" | "PROCESSING" | "PROCESSED" | "FAILED" | "CANCELED" | "REFUNDED" | "REJECTED";
        /** @description A status that the record had or has */
        WithdrawalStatusEntry: {
            status: components["schemas"]["WithdrawalStatus"];
            /**
             * Format: date-time
             * @description When the status was reached
             */
            date: string;
            /** @description Time spent in the status; null for the current one */
            durationInMilliseconds: number | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type AccountHolder = components['schemas']['AccountHolder'];
export type Address = components['schemas']['Address'];
export type AddressInput = components['schemas']['AddressInput'];
export type AttemptErrorCode = components['schemas']['AttemptErrorCode'];
export type AuthorizationServer = components['schemas']['AuthorizationServer'];
export type Balance = components['schemas']['Balance'];
export type BankAccount = components['schemas']['BankAccount'];
export type CreateTransactionBody = components['schemas']['CreateTransactionBody'];
export type CreateWebhookEndpointBody = components['schemas']['CreateWebhookEndpointBody'];
export type CreateWithdrawalBody = components['schemas']['CreateWithdrawalBody'];
export type Customer = components['schemas']['Customer'];
export type CustomerInput = components['schemas']['CustomerInput'];
export type Delivery = components['schemas']['Delivery'];
export type DeliveryAttempt = components['schemas']['DeliveryAttempt'];
export type DeliveryPage = components['schemas']['DeliveryPage'];
export type DeliveryState = components['schemas']['DeliveryState'];
export type Dispute = components['schemas']['Dispute'];
export type DisputeStatus = components['schemas']['DisputeStatus'];
export type Event = components['schemas']['Event'];
export type EventPage = components['schemas']['EventPage'];
export type EventSummary = components['schemas']['EventSummary'];
export type EventType = components['schemas']['EventType'];
export type ExportTransactionsBody = components['schemas']['ExportTransactionsBody'];
export type ExportWithdrawalsBody = components['schemas']['ExportWithdrawalsBody'];
export type FeedEvent = components['schemas']['FeedEvent'];
export type FeedPage = components['schemas']['FeedPage'];
export type FieldError = components['schemas']['FieldError'];
export type HealthState = components['schemas']['HealthState'];
export type Item = components['schemas']['Item'];
export type ItemInput = components['schemas']['ItemInput'];
export type Jwks = components['schemas']['Jwks'];
export type OAuthError = components['schemas']['OAuthError'];
export type PaymentLink = components['schemas']['PaymentLink'];
export type PixCode = components['schemas']['PixCode'];
export type PixCodeIfAny = components['schemas']['PixCodeIfAny'];
export type PixKey = components['schemas']['PixKey'];
export type PixKeyInput = components['schemas']['PixKeyInput'];
export type PixKeyType = components['schemas']['PixKeyType'];
export type Problem = components['schemas']['Problem'];
export type Refund = components['schemas']['Refund'];
export type RefundBody = components['schemas']['RefundBody'];
export type RefundCreated = components['schemas']['RefundCreated'];
export type RefundStatus = components['schemas']['RefundStatus'];
export type Resent = components['schemas']['Resent'];
export type Return = components['schemas']['Return'];
export type RotateWebhookEndpointSecretBody = components['schemas']['RotateWebhookEndpointSecretBody'];
export type SandboxAdvanced = components['schemas']['SandboxAdvanced'];
export type SandboxClock = components['schemas']['SandboxClock'];
export type SandboxDisputed = components['schemas']['SandboxDisputed'];
export type SandboxDue = components['schemas']['SandboxDue'];
export type SandboxInfraction = components['schemas']['SandboxInfraction'];
export type SandboxPaid = components['schemas']['SandboxPaid'];
export type SandboxPayer = components['schemas']['SandboxPayer'];
export type SandboxPayment = components['schemas']['SandboxPayment'];
export type SandboxPersonality = components['schemas']['SandboxPersonality'];
export type SandboxPersonalityInput = components['schemas']['SandboxPersonalityInput'];
export type SandboxPersonalityName = components['schemas']['SandboxPersonalityName'];
export type SandboxReturn = components['schemas']['SandboxReturn'];
export type SandboxTraits = components['schemas']['SandboxTraits'];
export type SandboxWithdrawalReturn = components['schemas']['SandboxWithdrawalReturn'];
export type SearchTransactionsBody = components['schemas']['SearchTransactionsBody'];
export type SearchWithdrawalsBody = components['schemas']['SearchWithdrawalsBody'];
export type Seller = components['schemas']['Seller'];
export type SellerInput = components['schemas']['SellerInput'];
export type StatementEntry = components['schemas']['StatementEntry'];
export type StatementKind = components['schemas']['StatementKind'];
export type StatementPage = components['schemas']['StatementPage'];
export type TaxDocument = components['schemas']['TaxDocument'];
export type Token = components['schemas']['Token'];
export type TokenForm = components['schemas']['TokenForm'];
export type Transaction = components['schemas']['Transaction'];
export type TransactionCreated = components['schemas']['TransactionCreated'];
export type TransactionEvent = components['schemas']['TransactionEvent'];
export type TransactionFeedEvent = components['schemas']['TransactionFeedEvent'];
export type TransactionPage = components['schemas']['TransactionPage'];
export type TransactionStatus = components['schemas']['TransactionStatus'];
export type TransactionStatusEntry = components['schemas']['TransactionStatusEntry'];
export type UpdateWebhookEndpointBody = components['schemas']['UpdateWebhookEndpointBody'];
export type WebhookEndpoint = components['schemas']['WebhookEndpoint'];
export type WebhookEndpointCreated = components['schemas']['WebhookEndpointCreated'];
export type WebhookEndpointDisabledReason = components['schemas']['WebhookEndpointDisabledReason'];
export type WebhookEndpointPage = components['schemas']['WebhookEndpointPage'];
export type WebhookEndpointSecret = components['schemas']['WebhookEndpointSecret'];
export type WebhookTest = components['schemas']['WebhookTest'];
export type Withdrawal = components['schemas']['Withdrawal'];
export type WithdrawalCreated = components['schemas']['WithdrawalCreated'];
export type WithdrawalEvent = components['schemas']['WithdrawalEvent'];
export type WithdrawalFeedEvent = components['schemas']['WithdrawalFeedEvent'];
export type WithdrawalHold = components['schemas']['WithdrawalHold'];
export type WithdrawalPage = components['schemas']['WithdrawalPage'];
export type WithdrawalStatus = components['schemas']['WithdrawalStatus'];
export type WithdrawalStatusEntry = components['schemas']['WithdrawalStatusEntry'];
export type $defs = Record<string, never>;
export interface operations {
    listTransactions: {
        parameters: {
            query?: {
                /** @description Created at or after; ISO 8601 with time; UTC if it has no offset */
                startDate?: string;
                /** @description Created at or before; ISO 8601 with time; UTC if it has no offset */
                endDate?: string;
                /** @description Any of these; in the query, repeat the parameter */
                status?: components["schemas"]["TransactionStatus"][];
                /** @description Case does not matter */
                customerEmail?: string;
                /** @description Any part of it; case and accents do not matter */
                customerName?: string;
                /** @description CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric */
                customerDocument?: string;
                /** @description Either phone; only the digits are compared */
                customerPhone?: string;
                /** @description Its identifier */
                id?: string;
                /** @description endToEndId of the Pix */
                endToEnd?: string;
                /** @description endToEndId of a refund or another return, MED included */
                endToEndRefund?: string;
                /** @description Your reference */
                externalCode?: string;
                /** @description Any of these */
                paymentMethod?: "PIX"[];
                /** @description Cents */
                minAmount?: number;
                /** @description Cents */
                maxAmount?: number;
                /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
                page?: number;
                /** @description Items per page */
                perPage?: number;
                /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    exportTransactions: {
        parameters: {
            query?: {
                /** @description Created at or after; ISO 8601 with time; UTC if it has no offset */
                startDate?: string;
                /** @description Created at or before; ISO 8601 with time; UTC if it has no offset */
                endDate?: string;
                /** @description Any of these; in the query, repeat the parameter */
                status?: components["schemas"]["TransactionStatus"][];
                /** @description Case does not matter */
                customerEmail?: string;
                /** @description Any part of it; case and accents do not matter */
                customerName?: string;
                /** @description CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric */
                customerDocument?: string;
                /** @description Either phone; only the digits are compared */
                customerPhone?: string;
                /** @description Its identifier */
                id?: string;
                /** @description endToEndId of the Pix */
                endToEnd?: string;
                /** @description endToEndId of a refund or another return, MED included */
                endToEndRefund?: string;
                /** @description Your reference */
                externalCode?: string;
                /** @description Any of these */
                paymentMethod?: "PIX"[];
                /** @description Cents */
                minAmount?: number;
                /** @description Cents */
                maxAmount?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listTransactionEvents: {
        parameters: {
            query?: {
                /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
                page?: number;
                /** @description Items per page */
                perPage?: number;
                /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listWithdrawals: {
        parameters: {
            query?: {
                /** @description Created at or after; ISO 8601 with time; UTC if it has no offset */
                startDate?: string;
                /** @description Created at or before; ISO 8601 with time; UTC if it has no offset */
                endDate?: string;
                /** @description Any of these; in the query, repeat the parameter */
                status?: components["schemas"]["WithdrawalStatus"][];
                /** @description Its identifier */
                id?: string;
                /** @description CPF, CNPJ, e-mail, phone or EVP */
                pixKey?: string;
                /** @description endToEndId of the Pix */
                endToEnd?: string;
                /** @description endToEndId of the return */
                endToEndRefund?: string;
                /** @description Your reference */
                externalCode?: string;
                /** @description Cents */
                minAmount?: number;
                /** @description Cents */
                maxAmount?: number;
                /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
                page?: number;
                /** @description Items per page */
                perPage?: number;
                /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    exportWithdrawals: {
        parameters: {
            query?: {
                /** @description Created at or after; ISO 8601 with time; UTC if it has no offset */
                startDate?: string;
                /** @description Created at or before; ISO 8601 with time; UTC if it has no offset */
                endDate?: string;
                /** @description Any of these; in the query, repeat the parameter */
                status?: components["schemas"]["WithdrawalStatus"][];
                /** @description Its identifier */
                id?: string;
                /** @description CPF, CNPJ, e-mail, phone or EVP */
                pixKey?: string;
                /** @description endToEndId of the Pix */
                endToEnd?: string;
                /** @description endToEndId of the return */
                endToEndRefund?: string;
                /** @description Your reference */
                externalCode?: string;
                /** @description Cents */
                minAmount?: number;
                /** @description Cents */
                maxAmount?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listWithdrawalEvents: {
        parameters: {
            query?: {
                /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
                page?: number;
                /** @description Items per page */
                perPage?: number;
                /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getBalance: {
        parameters: {
            query?: {
                /** @description The balance at this moment; now by default; ISO 8601 with time; UTC if it has no offset */
                at?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listStatement: {
        parameters: {
            query?: {
                /** @description Posted at or after; ISO 8601 with time; UTC if it has no offset */
                startDate?: string;
                /** @description Posted at or before; ISO 8601 with time; UTC if it has no offset */
                endDate?: string;
                /** @description Any of these; in the query, repeat the parameter */
                kind?: components["schemas"]["StatementKind"][];
                /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
                page?: number;
                /** @description Items per page */
                perPage?: number;
                /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    exportStatement: {
        parameters: {
            query?: {
                /** @description Posted at or after; ISO 8601 with time; UTC if it has no offset */
                startDate?: string;
                /** @description Posted at or before; ISO 8601 with time; UTC if it has no offset */
                endDate?: string;
                /** @description Any of these; in the query, repeat the parameter */
                kind?: components["schemas"]["StatementKind"][];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description waiting: behind an earlier event of its record; pending: to be tried; delivered; exhausted: all attempts failed; gone: the receiver answered 410; canceled: its endpoint was disabled or deleted */
                state?: components["schemas"]["DeliveryState"];
                /** @description Only deliveries of this transaction or withdrawal */
                recordId?: string;
                /** @description Only the deliveries of this event */
                eventId?: string;
                /** @description Only deliveries to this registered endpoint */
                endpointId?: string;
                /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
                page?: number;
                /** @description Items per page */
                perPage?: number;
                /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    resendDelivery: {
        parameters: {
            query?: {
                /** @description Only to this endpoint; without it, to every address it was sent to */
                endpointId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listWebhookEndpoints: {
        parameters: {
            query?: {
                /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
                page?: number;
                /** @description Items per page */
                perPage?: number;
                /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description Read the feed after this position: `start`, `end`, or a `next` or `position` that you saved */
                after?: string;
                /** @description Events per page of the feed; 100 by default */
                limit?: number;
                /** @description Wait up to this many seconds for an event, if the feed has none after the position */
                wait?: number;
                /** @description Only events of these types; repeat the parameter */
                type?: components["schemas"]["EventType"][];
                /** @description Only events of this transaction or withdrawal */
                recordId?: string;
                /** @description Only events that happened at or after; ISO 8601 with time; UTC if it has no offset */
                startDate?: string;
                /** @description Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead */
                page?: number;
                /** @description Instead of `page`: the `nextCursor` of the previous page, with the same filters */
                cursor?: string;
                /** @description Items per page of the list; 20 by default */
                perPage?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
}

/** Every error `code` that the API has. A newer service may have more: handle unknown codes too. */
export type ErrorCode =
  | 'acquirer_refused'
  | 'acquirer_unavailable'
  | 'bad_request'
  | 'body_too_large'
  | 'cancel_not_possible'
  | 'client_not_registered'
  | 'database_unavailable'
  | 'idempotency_key_reused'
  | 'insufficient_balance'
  | 'insufficient_scope'
  | 'internal_error'
  | 'invalid_token'
  | 'malformed_json'
  | 'merchant_moved'
  | 'missing_token'
  | 'not_found'
  | 'overloaded'
  | 'payment_refused'
  | 'payouts_stopped'
  | 'position_unknown'
  | 'rate_limited'
  | 'refund_not_possible'
  | 'token_expired'
  | 'token_revoked'
  | 'unsupported_media_type'
  | 'validation_failed'
  | 'withdrawal_not_possible'
