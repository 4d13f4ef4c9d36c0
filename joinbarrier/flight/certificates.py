# SPDX-License-Identifier: Apache-2.0
"""Finds out why a server cannot be reached over TLS. gRPC says it only in a text, so this repeats the handshake by
itself.
"""

from __future__ import annotations

import socket
import ssl
from typing import Final

from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.schema.errors import CertificateRefused, FlightError

_HANDSHAKE_S: Final = 2.0
"""How long the handshake may take. A silent server has used up its timeout already."""


def why_unreachable(endpoint: Endpoint, authorities: bytes | None, access: Access, failure: FlightError) -> FlightError:
    """CertificateRefused if the certificate is the reason, else the failure itself."""
    try:
        context = ssl.create_default_context(cadata=None if authorities is None else authorities.decode("ascii"))
        context.set_alpn_protocols(["h2"])
        with (
            socket.create_connection(
                (endpoint.host, endpoint.port), timeout=min(access.timeout_s, _HANDSHAKE_S)
            ) as connection,
            context.wrap_socket(connection, server_hostname=access.tls_name or endpoint.host),
        ):
            return failure
    except ssl.SSLCertVerificationError as refused:
        return CertificateRefused(refused.verify_message, endpoint=endpoint, verify_code=refused.verify_code)
    except ssl.SSLError as refused:
        return CertificateRefused(
            f"the handshake failed: {refused.reason or refused}",
            endpoint=endpoint,
            hint="Does the server speak TLS at this port? Does caFile hold PEM?",
        )
    except (OSError, ValueError):
        return failure
